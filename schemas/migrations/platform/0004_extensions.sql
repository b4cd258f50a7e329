-- pgcrypto and uuid-ossp stand ready in schema extensions, owned by postgres; a server without them goes on without.
-- as: postgres

do $$
declare
  wanted text;
begin
  foreach wanted in array array['pgcrypto', 'uuid-ossp'] loop
    if not exists (select from pg_catalog.pg_available_extensions where name = wanted) then
      raise notice 'extension % is not available on this server', wanted;
    elsif not exists (select from pg_catalog.pg_extension where extname = wanted) then
      execute pg_catalog.format('create extension %I with schema extensions', wanted);
    end if;
  end loop;
end $$;

-- as: superuser

grant execute on all functions in schema extensions to postgres, anon, authenticated, service_role;
alter default privileges for role postgres in schema extensions
  grant execute on functions to postgres, anon, authenticated, service_role;
