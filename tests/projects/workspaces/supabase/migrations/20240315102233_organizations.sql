create extension if not exists moddatetime schema extensions;
create extension if not exists citext with schema extensions;

create type public.member_role as enum ('owner', 'admin', 'member', 'billing');

create table public.organizations (
  id uuid primary key default gen_random_uuid(),
  name text not null check (length(trim(name)) between 1 and 120),
  slug extensions.citext not null unique,
  settings jsonb not null default '{}'::jsonb,
  created_by uuid default auth.uid() references auth.users (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table public.organizations is 'A team with its own data. Everything hangs on it.';
comment on column public.organizations.slug is 'Part of the address, never changed.';

create table public.organization_members (
  organization_id uuid not null references public.organizations on delete cascade,
  user_id uuid not null references public.profiles (id) on delete cascade,
  role public.member_role not null default 'member',
  joined_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index organization_members_user_id_idx on public.organization_members (user_id);

create trigger handle_updated_at before update on public.organizations
  for each row execute procedure extensions.moddatetime (updated_at);

-- Helpers that read past the policies: without them a policy on the members would ask itself.
create schema if not exists private;

create or replace function private.is_member_of(organization uuid)
returns boolean
language sql stable security definer
set search_path to ''
as $$
  select exists (
    select 1 from public.organization_members m
    where m.organization_id = is_member_of.organization and m.user_id = (select auth.uid())
  );
$$;

create or replace function private.has_role(organization uuid, variadic roles public.member_role[])
returns boolean
language plpgsql stable security definer
set search_path = public, pg_temp
as $$
declare
  found_role member_role;
begin
  select role into found_role from organization_members
  where organization_id = organization and user_id = auth.uid();
  return coalesce(found_role = any (roles), false);
end;
$$;

grant usage on schema private to authenticated, service_role;
revoke all on all functions in schema private from public;
grant execute on all functions in schema private to authenticated, service_role;

alter table public.organizations enable row level security;
alter table public.organization_members enable row level security;

create policy "members read their organizations" on public.organizations
  as permissive for select to authenticated
  using ((select private.is_member_of(id)) or created_by = (select auth.uid()));
create policy "anyone signed in creates one" on public.organizations
  for insert to authenticated with check (created_by = (select auth.uid()));
create policy "owners and admins change it" on public.organizations
  for update to authenticated
  using (private.has_role(id, 'owner', 'admin')) with check (private.has_role(id, 'owner', 'admin'));
create policy "owners delete it" on public.organizations
  for delete to authenticated using (private.has_role(id, 'owner'));

create policy "members see members" on public.organization_members
  for select to authenticated using (private.is_member_of(organization_id));
create policy "admins manage members" on public.organization_members
  for all to authenticated using (private.has_role(organization_id, 'owner', 'admin'))
  with check (private.has_role(organization_id, 'owner', 'admin') and role <> 'owner');

create function public.add_owner() returns trigger language plpgsql security definer set search_path = '' as $$
begin
  if new.created_by is not null then
    insert into public.organization_members (organization_id, user_id, role)
    values (new.id, new.created_by, 'owner') on conflict do nothing;
  end if;
  return new;
end $$;

create trigger organizations_add_owner after insert on public.organizations
  for each row execute function public.add_owner();
