-- Messages of a chat: who is signed in reads them all and writes in their own name.
create table if not exists public.messages (
  id bigint generated always as identity primary key,
  room text not null,
  author uuid not null default auth.uid() references auth.users,
  name text not null,
  body text not null check (length(body) between 1 and 2000),
  at timestamptz not null default now()
);
create index if not exists messages_room on public.messages (room, id desc);
alter table public.messages enable row level security;
grant select, insert on public.messages to authenticated;

drop policy if exists "who is signed in reads" on public.messages;
create policy "who is signed in reads" on public.messages for select to authenticated using (true);
drop policy if exists "in one's own name" on public.messages;
create policy "in one's own name" on public.messages for insert to authenticated with check (author = (select auth.uid()));

-- Its changes are told to those who may read the rows.
do $$
begin
  alter publication supabase_realtime add table public.messages;
exception when duplicate_object then null;
end $$;
