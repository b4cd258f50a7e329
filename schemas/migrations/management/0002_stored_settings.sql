-- The settings that administrators change while the platform runs, as one encrypted text with a version.
-- Roles that may read all tables (pg_read_all_data) find a text that they cannot decrypt. Role postgres can neither read nor change it.
-- as: superuser

create table if not exists headwater.stored_settings (
  only_row boolean primary key default true check (only_row),
  version bigint not null check (version operator(pg_catalog.>) 0),
  sealed text not null check (pg_catalog.octet_length(sealed) operator(pg_catalog.<=) 8388608)
);
comment on table headwater.stored_settings is 'Written by the pool management; read by every worker. No row: nothing is stored';
comment on column headwater.stored_settings.sealed is
  'Values by the path of their setting, encrypted with a key that the database does not have, and bound to the version';

-- The row for the login of the workers. Code of the project runs under that login as well; it finds the encrypted text.
create or replace function headwater.read_stored_settings(out version bigint, out sealed text) returns record
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select stored.version, stored.sealed from headwater.stored_settings as stored
$$;
revoke all on table headwater.stored_settings from public;
grant select, insert, update on headwater.stored_settings to headwater_management;
revoke all on function headwater.read_stored_settings() from public;
grant execute on function headwater.read_stored_settings() to authenticator, headwater_management;
