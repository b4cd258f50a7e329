-- Messages broadcast from the database: a row is sent to its room at the commit, and kept for 72 hours to be replayed.
-- as: superuser

grant usage, create on schema realtime to supabase_realtime_admin;

-- as: supabase_realtime_admin

create table if not exists realtime.messages (
  topic text not null,
  extension text not null,
  payload jsonb,
  event text,
  private boolean default false,
  updated_at timestamp not null default pg_catalog.now(),
  inserted_at timestamp not null default pg_catalog.now(),
  id uuid not null default pg_catalog.gen_random_uuid(),
  binary_payload bytea,
  primary key (id, inserted_at),
  constraint messages_payload_exclusive check (payload is null or binary_payload is null)
) partition by range (inserted_at);

comment on table realtime.messages is
  'Messages of rooms. Policies for select decide who may read a private room (see realtime.topic()), those for insert who may send';

create index if not exists messages_inserted_at_topic_index on realtime.messages (inserted_at desc, topic)
  where extension = 'broadcast' and private is true;

-- Takes what comes when no partition of the day is there, so that nothing is lost while no worker makes them.
create table if not exists realtime.messages_default partition of realtime.messages default;

alter table realtime.messages enable row level security;
grant select, insert, update on realtime.messages to anon, authenticated, service_role;
grant all on realtime.messages to postgres;

-- Makes the partitions of yesterday to three days ahead, and drops those whose rows are all older than 72 hours. Rows that
-- the default partition took in the meantime are moved into a new partition before it is attached: so they are not sent again.
create or replace function realtime.keep_partitions() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  today constant date := (pg_catalog.now() at time zone 'utc')::date;
  day date;
  partition text;
begin
  for day in select d::date from pg_catalog.generate_series(today - 1, today + 3, interval '1 day') as days (d) loop
    partition := 'messages_' || pg_catalog.to_char(day, 'YYYY_MM_DD');
    continue when pg_catalog.to_regclass('realtime.' || partition) is not null;
    execute pg_catalog.format(
      'create table realtime.%I (like realtime.messages including defaults including constraints)', partition);
    execute pg_catalog.format(
      'with taken as (delete from realtime.messages_default where inserted_at >= %L and inserted_at < %L returning *)
       insert into realtime.%I select * from taken', day, day + 1, partition);
    execute pg_catalog.format(
      'alter table realtime.messages attach partition realtime.%I for values from (%L) to (%L)', partition, day, day + 1);
    execute pg_catalog.format('alter table realtime.%I enable row level security', partition);
  end loop;
  for partition in
    select c.relname from pg_catalog.pg_inherits as i join pg_catalog.pg_class as c on c.oid = i.inhrelid
    where i.inhparent = 'realtime.messages'::pg_catalog.regclass
      and c.relname ~ '^messages_\d{4}_\d\d_\d\d$'
      and pg_catalog.to_date(pg_catalog.right(c.relname, 10), 'YYYY_MM_DD') < today - 3
  loop
    execute pg_catalog.format('drop table realtime.%I', partition);
  end loop;
  delete from realtime.messages_default where inserted_at < (pg_catalog.now() at time zone 'utc') - interval '72 hours';
end $$;

revoke all on function realtime.keep_partitions() from public;
alter table realtime.messages_default enable row level security;
select realtime.keep_partitions();
