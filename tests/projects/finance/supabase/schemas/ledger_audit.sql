create schema if not exists audit;
create type audit.operation as enum ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE');

create table audit.record_version (
  id bigserial primary key,
  record_id uuid,
  old_record_id uuid,
  op audit.operation not null,
  ts timestamptz not null default now(),
  table_oid oid not null,
  table_schema name not null,
  table_name name not null,
  record jsonb,
  old_record jsonb,
  auth_uid uuid default auth.uid(),
  auth_role text default auth.role(),
  check (coalesce(record_id, old_record_id) is not null or op = 'TRUNCATE'),
  check (op in ('INSERT', 'UPDATE') = (record is not null))
);
create index record_version_ts on audit.record_version using brin (ts);
create index record_version_table_oid on audit.record_version using btree (table_oid);
create index record_version_record_id on audit.record_version (record_id) where record_id is not null;

create or replace function audit.primary_key_columns(entity_oid oid) returns text[] stable security definer set search_path = '' language sql as $$
  select coalesce(array_agg(pa.attname::text order by pa.attnum), array[]::text[])
  from pg_index pi join pg_attribute pa on pi.indrelid = pa.attrelid and pa.attnum = any (pi.indkey)
  where indrelid = $1 and indisprimary
$$;

create or replace function audit.to_record_id(entity_oid oid, pkey_cols text[], rec jsonb) returns uuid stable language sql as $$
  select case when rec is null then null when pkey_cols = array[]::text[] then gen_random_uuid()
  else (select extensions.uuid_generate_v5('fd62bc3d-8d6e-43c2-919c-802ba3762271', (jsonb_build_array(to_jsonb($1)) || jsonb_agg($3 ->> key_))::text) from unnest($2) x(key_)) end
$$;

create or replace function audit.insert_update_delete_trigger() returns trigger security definer set search_path = '' language plpgsql as $$
declare
  pkey_cols text[] = audit.primary_key_columns(TG_RELID);
  record_jsonb jsonb = to_jsonb(new);
  old_record_jsonb jsonb = to_jsonb(old);
begin
  insert into audit.record_version (record_id, old_record_id, op, table_oid, table_schema, table_name, record, old_record)
  select audit.to_record_id(TG_RELID, pkey_cols, record_jsonb), audit.to_record_id(TG_RELID, pkey_cols, old_record_jsonb),
    TG_OP::audit.operation, TG_RELID, TG_TABLE_SCHEMA, TG_TABLE_NAME, record_jsonb, old_record_jsonb;
  return coalesce(new, old);
end;
$$;

create or replace function audit.enable_tracking(regclass) returns void volatile security definer set search_path = '' language plpgsql as $$
declare
  statement_row text = format('create trigger audit_i_u_d after insert or update or delete on %s for each row execute procedure audit.insert_update_delete_trigger();', $1);
begin
  if array_length(audit.primary_key_columns($1), 1) is null then
    raise exception 'Table % can not be audited because it has no primary key', $1;
  end if;
  if not exists (select 1 from pg_trigger where tgrelid = $1 and tgname = 'audit_i_u_d') then
    execute statement_row;
  end if;
end;
$$;

select audit.enable_tracking('ledger.accounts'::regclass);
select audit.enable_tracking('ledger.bookings');
select audit.enable_tracking('ledger.entries');

-- What is booked stays as it is.
create function ledger.immutable() returns trigger language plpgsql as $$ begin
  raise exception 'entries are never changed: book the contrary' using errcode = 'restrict_violation', table = tg_table_name;
end $$;
create trigger entries_immutable before update or delete on ledger.entries for each row execute function ledger.immutable();

create constraint trigger balanced after insert on ledger.entries deferrable initially deferred
  for each row execute function audit.insert_update_delete_trigger();
drop trigger balanced on ledger.entries;
