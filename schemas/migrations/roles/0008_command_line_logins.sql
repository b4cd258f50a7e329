-- The logins of the official command line: `db push --linked` and its like ask for one, with a password that ends after minutes.
-- as: superuser

-- Each is a member of one role and inherits none of its rights, so its sessions must switch to that role, and what they create belongs
-- to it: the command line does so for names that begin with `cli_login_`. Without a password, as they are made here, no client can use
-- them.
do $$
declare
  login record;
  held record;
begin
  for login in
    select * from (values
      ('cli_login_postgres', 'postgres'),
      ('cli_login_supabase_read_only_user', 'supabase_read_only_user')
    ) as logins (name, member_of)
  loop
    if not exists (select from pg_catalog.pg_roles where rolname operator(pg_catalog.=) login.name) then
      execute pg_catalog.format('create role %I', login.name);
    end if;
    execute pg_catalog.format(
      'alter role %I nosuperuser nocreatedb nocreaterole noreplication nobypassrls login noinherit password null', login.name);
    execute pg_catalog.format('alter role %I reset all', login.name);
    for held in
      select given.rolname as role, member.rolname as member
      from pg_catalog.pg_auth_members as membership
      join pg_catalog.pg_roles as given on given.oid operator(pg_catalog.=) membership.roleid
      join pg_catalog.pg_roles as member on member.oid operator(pg_catalog.=) membership.member
      where given.rolname operator(pg_catalog.=) login.name
        or (member.rolname operator(pg_catalog.=) login.name and given.rolname is distinct from login.member_of)
    loop
      execute pg_catalog.format('revoke %I from %I cascade', held.role, held.member);
    end loop;
    execute pg_catalog.format('grant %I to %I', login.member_of, login.name);
  end loop;
end $$;
