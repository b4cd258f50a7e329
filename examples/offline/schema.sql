-- Lists of things to do, each shared by its members. Safe to run twice.
set client_min_messages = warning;

create table if not exists public.lists (
  id uuid primary key default gen_random_uuid(),
  name text not null
);

create table if not exists public.list_members (
  list_id uuid not null references public.lists (id) on delete cascade,
  member uuid not null,
  primary key (list_id, member)
);

create table if not exists public.list_items (
  id uuid primary key,
  list_id uuid not null references public.lists (id) on delete cascade,
  title text not null check (length(title) between 1 and 200),
  done boolean not null default false
);

alter table public.lists enable row level security;
alter table public.list_members enable row level security;
alter table public.list_items enable row level security;

drop policy if exists "own memberships" on public.list_members;
create policy "own memberships" on public.list_members for select to authenticated using (member = auth.uid());

drop policy if exists "lists of members" on public.lists;
create policy "lists of members" on public.lists for select to authenticated
  using (exists (select from public.list_members m where m.list_id = lists.id and m.member = auth.uid()));

drop policy if exists "items of members" on public.list_items;
create policy "items of members" on public.list_items for all to authenticated
  using (exists (select from public.list_members m where m.list_id = list_items.list_id and m.member = auth.uid()))
  with check (exists (select from public.list_members m where m.list_id = list_items.list_id and m.member = auth.uid()));

grant select on public.lists, public.list_members to authenticated;
grant all on public.list_items to authenticated;
grant all on public.lists, public.list_members, public.list_items to service_role;
