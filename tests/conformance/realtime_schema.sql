-- Rooms that only their members may enter: who is in `room_members` reads, and writers among them send.
create table if not exists public.room_members (
  room text not null,
  person uuid not null,
  may_write boolean not null default false,
  primary key (room, person)
);
grant select on public.room_members to authenticated;

drop policy if exists "members read" on realtime.messages;
create policy "members read" on realtime.messages for select to authenticated using (
  extension in ('broadcast', 'presence')
  and exists (
    select from public.room_members m
    where m.room = (select realtime.topic()) and m.person = (select auth.uid())
  )
);
drop policy if exists "writers send" on realtime.messages;
create policy "writers send" on realtime.messages for insert to authenticated with check (
  extension in ('broadcast', 'presence')
  and exists (
    select from public.room_members m
    where m.room = (select realtime.topic()) and m.person = (select auth.uid()) and m.may_write
  )
);

create table if not exists public.ticker (id bigint generated always as identity primary key, body text, owner uuid);
alter table public.ticker enable row level security;
grant select, insert, update, delete on public.ticker to authenticated, anon, service_role;
drop policy if exists "own rows" on public.ticker;
create policy "own rows" on public.ticker for select to authenticated using (owner = (select auth.uid()));
do $$
begin
  alter publication supabase_realtime add table public.ticker;
exception when duplicate_object then null;
end $$;

insert into public.room_members values
  ('club', '00000000-0000-0000-0000-00000000000a', true),
  ('club', '00000000-0000-0000-0000-00000000000b', false)
on conflict do nothing;

create or replace function public.say(body jsonb, event text, topic text) returns void
language sql security definer set search_path = '' as $$ select realtime.send(body, event, topic) $$;
