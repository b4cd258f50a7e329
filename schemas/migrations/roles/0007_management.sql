-- The logins of the pool management: one for its own tables, the others for the sessions in which SQL of administrators runs.
-- as: superuser

-- A session's login is a member of one role only, so `reset role` in it gains nothing. The login `headwater_management` is a member
-- of none: SQL that an administrator writes never runs in its sessions.
do $$
declare
  login record;
  held record;
begin
  for login in
    select * from (values
      ('headwater_management', null),
      ('headwater_developer', 'postgres'),
      ('headwater_reader', 'supabase_read_only_user'),
      ('headwater_viewer', 'authenticator')
    ) as logins (name, member_of)
  loop
    if not exists (select from pg_catalog.pg_roles where rolname operator(pg_catalog.=) login.name) then
      execute pg_catalog.format('create role %I', login.name);
    end if;
    -- A role of this name may have been made by others: it keeps no attribute and no membership, and nobody else is a member.
    execute pg_catalog.format(
      'alter role %I nosuperuser nocreatedb nocreaterole noreplication nobypassrls login noinherit', login.name);
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
    if login.member_of is not null then
      execute pg_catalog.format('grant %I to %I', login.member_of, login.name);
    end if;
    execute pg_catalog.format('alter role %I set statement_timeout = %L', login.name, '60s');
    execute pg_catalog.format('alter role %I set idle_in_transaction_session_timeout = %L', login.name, '60s');
  end loop;
end $$;

alter role headwater_management set search_path = '';
alter role headwater_reader set default_transaction_read_only = on;
