-- Role postgres, and who reads the log, read no verifiers of passwords: pg_read_all_data opens pg_authid.
-- as: superuser

-- Role postgres owns, or is a member of who owns, all that a project has. What it granted of pg_read_all_data goes too; readers of
-- a project's own get `grant select on all tables in schema ...` and default privileges instead.
do $$
begin
  if not (select rolsuper from pg_catalog.pg_roles where rolname = 'postgres') then
    revoke pg_read_all_data from postgres cascade;
  end if;
end $$;

-- It named types of any schema to convert values; that is done by the interface's login now (replication/conversions.py).
revoke pg_read_all_data from supabase_replication_admin;
