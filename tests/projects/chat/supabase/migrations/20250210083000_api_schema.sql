create schema if not exists api;
grant usage on schema api to anon, authenticated, service_role;
alter default privileges in schema api grant select on tables to anon, authenticated, service_role;
alter default privileges for role postgres in schema api grant execute on functions to authenticated, service_role;

create view api.latest_messages with (security_invoker = true) as
select distinct on (channel_id) channel_id, id, message, user_id, inserted_at
from public.messages
order by channel_id, inserted_at desc, id desc;

create view api.unread as
select m.user_id, m.channel_id, count(x.*) as unread
from public.channel_members m
left join public.messages x on x.channel_id = m.channel_id and x.inserted_at > m.last_read_at
group by 1, 2;
alter view api.unread set (security_invoker = true);

create function api.mark_read(channel bigint) returns void language sql set search_path = '' as $$
  update public.channel_members set last_read_at = now() where channel_id = mark_read.channel and user_id = auth.uid();
$$;

do $$
begin
  if not exists (select 1 from pg_publication_tables where pubname = 'supabase_realtime' and tablename = 'channel_members') then
    alter publication supabase_realtime add table public.channel_members;
  end if;
end $$;

notify pgrst, 'reload schema';
