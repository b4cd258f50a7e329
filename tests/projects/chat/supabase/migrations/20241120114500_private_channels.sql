-- Broadcast and presence of private channels: topics are `room:<slug>`.
create or replace function public.topic_slug() returns text
language sql stable
set search_path = ''
as $$ select split_part((select realtime.topic()), ':', 2) $$;

create policy "members receive broadcasts and presence"
on "realtime"."messages"
for select
to authenticated
using (
  realtime.messages.extension in ('broadcast', 'presence')
  and exists (
    select 1
    from public.channel_members m
    join public.channels c on c.id = m.channel_id
    where m.user_id = (select auth.uid())
      and c.slug = public.topic_slug()
  )
);

create policy "members send"
on realtime.messages
for insert
to authenticated
with check (
  realtime.messages.extension = 'broadcast'
  and public.topic_slug() in (
    select c.slug from public.channels c join public.channel_members m on m.channel_id = c.id
    where m.user_id = (select auth.uid())
  )
);

create policy "authenticated can track presence"
on realtime.messages for insert to authenticated
with check (extension = 'presence' and (select realtime.topic()) like 'room:%');

-- Changes of messages are told to the topic of their channel.
create or replace function public.broadcast_message_changes()
returns trigger
security definer
language plpgsql
set search_path = ''
as $$
declare
  slug text;
begin
  select c.slug into slug from public.channels c where c.id = coalesce(new.channel_id, old.channel_id);
  perform realtime.broadcast_changes(
    'room:' || slug,  -- topic
    tg_op,            -- event
    tg_op,            -- operation
    tg_table_name,    -- table
    tg_table_schema,  -- schema
    new,              -- new record
    old               -- old record
  );
  return null;
end;
$$;

create trigger broadcast_message_changes
after insert or update or delete
on public.messages
for each row
execute function public.broadcast_message_changes();

create function public.announce_channel() returns trigger language plpgsql security definer set search_path = '' as $$
begin
  perform realtime.send(jsonb_build_object('slug', new.slug, 'id', new.id), 'channel_created', 'lobby', false);
  return new;
end $$;
create trigger announce_channel after insert on public.channels for each row execute function public.announce_channel();
