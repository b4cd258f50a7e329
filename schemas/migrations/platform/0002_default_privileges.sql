-- What is made in the schemas of the API from now on is granted to its roles; row level security decides about rows.
-- as: superuser

do $$
declare
  maker text;
  place text;
begin
  foreach maker in array array['postgres', 'supabase_admin'] loop
    foreach place in array array['public', 'storage', 'graphql', 'graphql_public'] loop
      execute pg_catalog.format(
        'alter default privileges for role %I in schema %I grant all on tables to postgres, anon, authenticated, service_role',
        maker, place);
      execute pg_catalog.format(
        'alter default privileges for role %I in schema %I grant all on functions to postgres, anon, authenticated, service_role',
        maker, place);
      execute pg_catalog.format(
        'alter default privileges for role %I in schema %I grant all on sequences to postgres, anon, authenticated, service_role',
        maker, place);
    end loop;
  end loop;
end $$;

grant all on all tables in schema public to postgres, anon, authenticated, service_role;
grant all on all functions in schema public to postgres, anon, authenticated, service_role;
grant all on all sequences in schema public to postgres, anon, authenticated, service_role;
