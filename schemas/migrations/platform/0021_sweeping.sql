-- Rows of webhooks are swept by a role with no other rights: their table is the project's, so it may have triggers.
-- as: superuser

-- The scheduler's login may ask for logins of the owners of jobs, and must run no code of a project. A trigger runs as the owner of
-- this function, and cannot leave that role: `reset role` is closed in a function with its owner's rights.
do $$
declare
  member name;
begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'headwater_sweeper') then
    create role headwater_sweeper;
  end if;
  -- Whoever may create roles could have made one of this name before: then it is nobody's but ours from now on.
  alter role headwater_sweeper nosuperuser nocreatedb nocreaterole noreplication nobypassrls nologin noinherit password null;
  for member in
    select member.rolname from pg_catalog.pg_auth_members as held
    join pg_catalog.pg_roles as member on member.oid = held.member
    where held.roleid = (select oid from pg_catalog.pg_roles where rolname = 'headwater_sweeper')
  loop
    execute pg_catalog.format('revoke headwater_sweeper from %I cascade', member);
  end loop;
end $$;

create or replace function headwater.sweep_hooks(older_than_s double precision) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  -- A deferred trigger would run at the commit, as whoever calls this: before Postgres 18 nobody remembers for whom it waits.
  -- While the lock is held none can be made. Where the project has triggers there (or foreign keys to it), it sweeps itself.
  lock table supabase_functions.hooks in share row exclusive mode;
  if exists (
    select from pg_catalog.pg_trigger where tgrelid = 'supabase_functions.hooks'::pg_catalog.regclass
  ) then
    return;
  end if;
  delete from supabase_functions.hooks
  where created_at < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => older_than_s);
end $$;

grant usage on schema supabase_functions to headwater_sweeper;
grant select, delete on supabase_functions.hooks to headwater_sweeper;
alter function headwater.sweep_hooks(double precision) owner to headwater_sweeper;
revoke all on function headwater.sweep_hooks(double precision) from public;
grant execute on function headwater.sweep_hooks(double precision) to headwater_scheduler;

revoke select, delete on supabase_functions.hooks from headwater_scheduler;
revoke usage on schema supabase_functions from headwater_scheduler;
