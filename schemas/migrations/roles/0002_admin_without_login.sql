-- On an outside server supabase_admin owns and does not log in, unless it has a password or is who migrates.
-- as: superuser

do $$
begin
  if exists (
    select from pg_catalog.pg_authid
    where rolname = 'supabase_admin'
      and rolcanlogin
      and rolpassword is null
      and rolname <> session_user
      and oid <> 10  -- the superuser that initdb made
  ) then
    alter role supabase_admin nologin;
  end if;
end $$;
