-- Notes of members, whose visibility depends on another table.
create table public.sync_members (team int, member uuid, primary key (team, member));
create table public.sync_notes (
  id bigint primary key, team int not null, title text, done bool not null default false, amount numeric, seen timestamptz
);
alter table public.sync_members enable row level security;
alter table public.sync_notes enable row level security;
create policy "own memberships" on public.sync_members for select to authenticated using (member = auth.uid());
create policy "notes of my teams" on public.sync_notes for select to authenticated
  using (exists (select from public.sync_members as m where m.team = sync_notes.team and m.member = auth.uid()));
grant select on public.sync_members, public.sync_notes to authenticated;
grant all on public.sync_members, public.sync_notes to service_role;
