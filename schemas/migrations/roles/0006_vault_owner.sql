-- The owner of the vault's table: a role that is no superuser, so that tables of projects may refer to the table.
-- as: superuser

-- A foreign key is checked with the rights of the owner of the table that it refers to, and the check casts the referring value:
-- by a function of the project, if the column has a type of the project.
do $$
declare
  member name;
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'headwater_vault') then
    create role headwater_vault;
  end if;
  -- Whoever may create roles could have made one of this name before: then it is nobody's but ours from now on.
  alter role headwater_vault nosuperuser nocreatedb nocreaterole noreplication nobypassrls nologin noinherit password null;
  for member in
    select member.rolname from pg_catalog.pg_auth_members as held
    join pg_catalog.pg_roles as member on member.oid = held.member
    where held.roleid = (select oid from pg_catalog.pg_roles where rolname = 'headwater_vault')
  loop
    execute pg_catalog.format('revoke headwater_vault from %I cascade', member);
  end loop;
end $$;
