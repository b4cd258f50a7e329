-- Webhooks of the platform (workers/webhooks): what is sent where, and every delivery until it has ended and for some days after.
-- as: superuser

create table if not exists headwater.webhooks (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  name text not null unique,
  source text not null check (source in ('rows', 'storage', 'auth')),
  events text[] not null,
  table_schema text,
  table_name text,
  filters text[] not null default '{}',
  columns text[],
  with_old boolean not null default false,
  is_ordered boolean not null default false,
  bucket text,
  sealed text not null,
  is_followed boolean not null default false,
  pause_reason text,
  paused_at timestamptz,
  failing_since timestamptz,
  is_full boolean not null default false,
  gap_at timestamptz,
  gap_reason text,
  created_at timestamptz not null default pg_catalog.now(),
  created_lsn pg_lsn not null default pg_catalog.pg_current_wal_lsn(),
  check ((source = 'rows') = (table_name is not null))
);
comment on table headwater.webhooks is 'Webhooks; address, headers and secrets of each are sealed under its id';
comment on column headwater.webhooks.is_followed is 'The reader of changes knows it: what was committed since created_lsn is sent';

create table if not exists headwater.webhook_deliveries (
  id bigint generated always as identity primary key,
  webhook uuid not null references headwater.webhooks (id) on delete cascade,
  event text not null,
  type text not null,
  row_key text,
  body text not null,
  occurred_at timestamptz not null,
  created_at timestamptz not null default pg_catalog.now(),
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  attempts int not null default 0,
  first_at timestamptz not null default pg_catalog.now(),
  next_at timestamptz not null default pg_catalog.now(),
  ended_at timestamptz,
  status int,
  error text,
  answer text,
  took_ms int
);
comment on table headwater.webhook_deliveries is 'What webhooks sent and have to send. first_at: the retries count from here';
create unique index if not exists webhook_deliveries_event on headwater.webhook_deliveries (webhook, event);
create index if not exists webhook_deliveries_due on headwater.webhook_deliveries (webhook, next_at, id) where state = 'waiting';
create index if not exists webhook_deliveries_of_row on headwater.webhook_deliveries (webhook, row_key, id)
  where state = 'waiting' and row_key is not null;
create index if not exists webhook_deliveries_ended on headwater.webhook_deliveries (ended_at) where state <> 'waiting';

create table if not exists headwater.webhook_place (
  is_only boolean primary key default true check (is_only),
  stream text not null,
  seq bigint not null,
  lsn bigint not null
);
comment on table headwater.webhook_place is 'Up to where the stream of changes was read for webhooks';

-- Deliveries of events that happen in this transaction, for all webhooks of a source that want them.
create or replace function headwater.send_event(
  event_source text, event_name text, event_type text, event_bucket text, event_id text, data jsonb
) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into headwater.webhook_deliveries (webhook, event, type, row_key, body, occurred_at)
  select
    w.id, event_id, event_type,
    case when w.is_ordered then coalesce(data ->> 'bucket' || '/' || (data ->> 'name'), data -> 'user' ->> 'id') end,
    pg_catalog.jsonb_build_object(
      'id', event_id, 'type', event_type,
      'timestamp', pg_catalog.to_char(pg_catalog.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'data', data
    )::text,
    pg_catalog.now()
  from headwater.webhooks as w
  where w.source = event_source and not w.is_full and event_name = any (w.events)
    and (w.bucket is null or w.bucket = event_bucket)
  on conflict (webhook, event) do nothing;
  if found then
    perform pg_catalog.pg_notify('headwater_webhooks', '');
  end if;
end $$;

create or replace function headwater.send_storage_event() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform headwater.send_event(
    'storage',
    case
      when new.event like 'ObjectCreated:%' then 'object_created'
      when new.event like 'ObjectRemoved:%' then 'object_removed'
      when new.event like 'ObjectUpdated:%' then 'object_updated'
      when new.event = 'Bucket:Created' then 'bucket_created'
      when new.event = 'Bucket:Deleted' then 'bucket_deleted'
    end,
    'storage.' || new.event,
    new.payload ->> 'bucketId',
    'storage-' || new.id,
    pg_catalog.jsonb_build_object('bucket', new.payload ->> 'bucketId', 'name', new.payload ->> 'name') || new.payload
  );
  return null;
end $$;

-- What of a user an event has: nothing that signs in.
create or replace function headwater.user_of_event(account auth.users) returns jsonb
language sql stable set search_path = pg_catalog, pg_temp as $$
  select pg_catalog.jsonb_build_object(
    'id', account.id, 'aud', account.aud, 'role', account.role, 'email', account.email, 'phone', account.phone,
    'email_confirmed_at', account.email_confirmed_at, 'phone_confirmed_at', account.phone_confirmed_at,
    'user_metadata', account.raw_user_meta_data, 'app_metadata', account.raw_app_meta_data,
    'banned_until', account.banned_until, 'is_anonymous', account.is_anonymous,
    'created_at', account.created_at, 'deleted_at', account.deleted_at
  )
$$;

create or replace function headwater.send_user_event() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  before jsonb;
  after jsonb;
  id constant text := 'auth-' || pg_catalog.gen_random_uuid();
begin
  if tg_op <> 'INSERT' then
    before := headwater.user_of_event(old);
  end if;
  if tg_op <> 'DELETE' then
    after := headwater.user_of_event(new);
  end if;
  if tg_op = 'UPDATE' and before = after then
    return null;  -- a sign-in, a code or a password: nothing that an event has
  end if;
  perform headwater.send_event(
    'auth', event.name, 'auth.' || event.name, null, id,
    pg_catalog.jsonb_build_object('user', coalesce(after, before), 'old_user', case when tg_op = 'UPDATE' then before end)
  )
  from (
    select case
      when tg_op = 'INSERT' then 'user_created'
      when tg_op = 'DELETE' or (new.deleted_at is not null and old.deleted_at is null) then 'user_deleted'
      else 'user_updated'
    end
  ) as event (name);
  return null;
end $$;

-- The triggers are there while a webhook wants what they send: other platforms do not pay for them, and the restore of a backup leaves them out. `always`, so that a
-- write in a session of a replica (`session_replication_role`) is a write. The functions run as the owners of the tables, for what a
-- change of the schema sets off must not run as a superuser.
create or replace function headwater.switch_storage_webhooks() returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
  is_there boolean;
begin
  perform pg_catalog.pg_advisory_xact_lock(1752658803, 2);
  is_there := exists (
    select from pg_catalog.pg_trigger where tgrelid = 'storage.events_outbox'::regclass and tgname = 'headwater_webhooks'
  );
  if is_there = exists (select from headwater.webhooks as w where w.source = 'storage') then
    return;
  elsif is_there then
    drop trigger headwater_webhooks on storage.events_outbox;
  else
    create trigger headwater_webhooks after insert on storage.events_outbox
      for each row execute function headwater.send_storage_event();
    alter table storage.events_outbox enable always trigger headwater_webhooks;
  end if;
end $$;

create or replace function headwater.switch_auth_webhooks() returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
  is_there boolean;
begin
  perform pg_catalog.pg_advisory_xact_lock(1752658803, 2);
  is_there := exists (
    select from pg_catalog.pg_trigger where tgrelid = 'auth.users'::regclass and tgname = 'headwater_webhooks'
  );
  if is_there = exists (select from headwater.webhooks as w where w.source = 'auth') then
    return;
  elsif is_there then
    drop trigger headwater_webhooks on auth.users;
  else
    create trigger headwater_webhooks after insert or update or delete on auth.users
      for each row execute function headwater.send_user_event();
    alter table auth.users enable always trigger headwater_webhooks;
  end if;
end $$;

revoke all on headwater.webhooks, headwater.webhook_deliveries, headwater.webhook_place from public;
revoke all on function headwater.send_event(text, text, text, text, text, jsonb), headwater.send_storage_event(),
  headwater.user_of_event(auth.users), headwater.send_user_event(), headwater.switch_storage_webhooks(), headwater.switch_auth_webhooks() from public;
grant select, insert, update, delete on headwater.webhooks, headwater.webhook_deliveries to headwater_management;
grant select, update on headwater.webhooks to headwater_scheduler;
grant select, insert, update, delete on headwater.webhook_deliveries to headwater_scheduler;
grant select, insert, update on headwater.webhook_place to headwater_scheduler;
grant execute on function headwater.switch_storage_webhooks(), headwater.switch_auth_webhooks() to headwater_management, headwater_scheduler;
grant usage on schema headwater to supabase_storage_admin, supabase_auth_admin;
grant select (source) on headwater.webhooks to supabase_storage_admin, supabase_auth_admin;
grant execute on function headwater.send_storage_event() to supabase_storage_admin;
grant execute on function headwater.send_user_event() to supabase_auth_admin;
alter function headwater.switch_storage_webhooks() owner to supabase_storage_admin;
alter function headwater.switch_auth_webhooks() owner to supabase_auth_admin;
grant usage on schema realtime to headwater_management, headwater_scheduler;
grant execute on function realtime.publish_for_sync(oid), realtime.writers_of(oid[]) to headwater_management, headwater_scheduler;
