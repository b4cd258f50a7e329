-- Temporary types hide nothing from the function that hashes refresh tokens (storage, 0023).
-- as: supabase_auth_admin

do $$
declare
  changed pg_catalog.regprocedure;
begin
  -- What a project has dropped or given to another owner is its own affair.
  for changed in
    select pg_proc.oid::pg_catalog.regprocedure
    from pg_catalog.unnest(array[
      'auth.hash_refresh_token()'
    ]) as name
    join pg_catalog.pg_proc on pg_proc.oid = pg_catalog.to_regprocedure(name)
    join pg_catalog.pg_roles on pg_roles.oid = proowner and rolname = current_user
  loop
    execute pg_catalog.format('alter function %s set search_path = pg_catalog, pg_temp', changed);
  end loop;
end $$;
