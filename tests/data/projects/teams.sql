-- Teams: rights looked up by security definer functions in a private schema, hashed keys, options of the interface.
create schema if not exists private;
revoke all on schema private from public;
grant usage on schema private to authenticated, service_role;

create type public.team_role as enum ('owner', 'member');

create table public.teams (
  id uuid primary key default extensions.uuid_generate_v4(),
  name text not null,
  key_hash text
);
create table public.team_members (
  team_id uuid not null references public.teams (id) on delete cascade,
  user_id uuid not null,
  role public.team_role not null default 'member',
  primary key (team_id, user_id)
);

create or replace function private.team_ids_of_caller()
returns setof uuid
language sql
stable
security definer
set search_path = public, extensions, pg_temp
as $$
  select team_id from public.team_members where user_id = (select auth.uid())
$$;
revoke all on function private.team_ids_of_caller() from public;
grant execute on function private.team_ids_of_caller() to authenticated;

alter table public.teams enable row level security;
alter table public.team_members enable row level security;
create policy teams_of_caller on public.teams for select to authenticated
  using (id in (select private.team_ids_of_caller()));
create policy members_of_teams on public.team_members for all to authenticated
  using (team_id in (select private.team_ids_of_caller()))
  with check (team_id in (select private.team_ids_of_caller()));
create policy admins_by_claim on public.teams for all to authenticated
  using (coalesce((auth.jwt() -> 'app_metadata' ->> 'admin')::boolean, false));

create or replace function public.set_key(team uuid, key text) returns void
language plpgsql security definer set search_path = public, extensions as $$
begin
  if team not in (select private.team_ids_of_caller()) then
    raise exception 'not your team' using errcode = 'insufficient_privilege';
  end if;
  update teams set key_hash = crypt(key, gen_salt('bf', 4)) where id = team;
end;
$$;

do $do$
declare
  place record;
begin
  for place in select tablename from pg_tables where schemaname = 'public' and tablename like 'team%' loop
    execute format('comment on table public.%I is %L', place.tablename, 'Part of teams.');
  end loop;
end
$do$;

do $$ begin
  create role team_reporter nologin noinherit;
exception when duplicate_object then
  raise notice 'role team_reporter exists, not re-creating';
end $$;
grant team_reporter to authenticator;
grant select on public.teams to team_reporter;

alter role authenticator set pgrst.db_aggregates_enabled = 'true';
notify pgrst, 'reload config';
alter role authenticated set statement_timeout = '10s';
alter database postgres set "app.settings.jwt_exp" to '3600';
grant usage on schema auth to team_reporter;

alter role authenticator reset pgrst.db_aggregates_enabled;
alter role authenticated set statement_timeout = '8s';
