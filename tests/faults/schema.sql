-- What the traffic of a campaign writes to. No table has a unique id of the client's: a row that is stored twice must show.
create extension if not exists pgmq;
create extension if not exists pg_cron;
create extension if not exists pg_net;

create table public.marks (
  n bigint generated always as identity primary key,
  id bigint not null,
  by uuid,
  at timestamptz not null default clock_timestamp()
);
create index on public.marks (id);
alter table public.marks enable row level security;
create policy "all read" on public.marks for select to anon, authenticated using (true);
create policy "users write their own" on public.marks for insert to authenticated with check (by = auth.uid());
grant select, insert on public.marks to anon, authenticated, service_role;
alter publication supabase_realtime add table public.marks;

create table public.ticks (id bigint generated always as identity primary key, run bigint);
create table public.calls (request bigint primary key, mark bigint not null);

select pgmq.create('marks');

create function public.send_mark(mark bigint) returns bigint language sql security definer set search_path = pg_catalog, pg_temp as $$
  select * from pgmq.send('marks', pg_catalog.jsonb_build_object('id', mark))
$$;

-- Read and archive in one transaction: a message whose answer was lost is archived or comes again, never both.
create function public.take_marks() returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  taken int := 0;
  message pgmq.message_record;
begin
  for message in select * from pgmq.read('marks', 5, 20) loop
    perform pgmq.archive('marks', message.msg_id);
    taken := taken + 1;
  end loop;
  return taken;
end $$;

revoke all on function public.send_mark(bigint), public.take_marks() from public, anon, authenticated;
grant execute on function public.send_mark(bigint), public.take_marks() to service_role;

-- A run is written down before its statement begins, so each row names its own: the latest one in this session.
select cron.schedule('tick', '1 seconds', 'insert into public.ticks (run) select max(runid) from cron.job_run_details where job_pid = pg_backend_pid()');
