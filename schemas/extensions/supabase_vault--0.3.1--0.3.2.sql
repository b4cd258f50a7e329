-- supabase_vault 0.3.1 to 0.3.2: tables of a project may refer to vault.secrets, and role postgres may empty it.
--
-- A foreign key is checked with the rights of the owner of the table that it refers to, and a cast of the project may run in
-- that check. So the table must not belong to a superuser: it belongs to headwater_vault, which has no other rights. From then
-- on code of the project may change the table (give it triggers or other types), so nothing that touches the table may run as
-- the superuser: what reads and writes it belongs to the same role. The superuser's rights remain with the three functions that
-- read the key; their arguments are of built-in types, and they name no table.

\echo Use "ALTER EXTENSION supabase_vault UPDATE TO '0.3.2'" to load this file. \quit

set local search_path = pg_catalog, pg_temp;

alter function vault._headwater_seal(text, uuid, bytea) security definer;

do $$
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'headwater_vault' and not rolsuper) then
    return;  -- a server without the platform's roles: the table stays the superuser's, and nothing may refer to it
  end if;
  grant usage on schema vault to headwater_vault;
  grant execute on function vault._headwater_seal(text, uuid, bytea), vault._headwater_open(text, uuid, bytea) to headwater_vault;
  alter function vault._headwater_seal_row() owner to headwater_vault;
  alter function vault.create_secret(text, text, text, uuid) owner to headwater_vault;
  alter function vault.update_secret(uuid, text, text, text, uuid) owner to headwater_vault;
  alter table vault.secrets owner to headwater_vault;
  alter view vault.decrypted_secrets owner to headwater_vault;
  -- A grant in a script is noted as the extension's own; without these, dumps would contain the change of the owners' rights.
  grant execute on function vault._headwater_seal_row(), vault.create_secret(text, text, text, uuid),
    vault.update_secret(uuid, text, text, text, uuid) to headwater_vault;
  grant all on vault.secrets, vault.decrypted_secrets to headwater_vault;
  if exists (select from pg_catalog.pg_roles where rolname = 'postgres' and not rolsuper) then
    grant references, truncate on vault.secrets to postgres with grant option;
  end if;
end $$;
