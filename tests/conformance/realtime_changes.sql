-- Tables whose changes the tests of realtime follow.
create table if not exists public.readings_live (
  id bigint generated always as identity primary key, big bigint, batch uuid, num numeric, ok boolean, tags text[], doc jsonb,
  at timestamptz, raw bytea
);
create table if not exists public.ledger_live (id int primary key, batch uuid, amount int);
alter table public.ledger_live replica identity full;
create table if not exists public.sieve_live (id bigint generated always as identity primary key, n int, name text, flag boolean);
create table if not exists public.staff_live (id int primary key, name text, salary int);
truncate public.readings_live, public.ledger_live, public.sieve_live, public.staff_live;
alter table public.readings_live disable row level security;
alter table public.ledger_live disable row level security;
alter table public.sieve_live disable row level security;
alter table public.staff_live disable row level security;
grant all on public.readings_live, public.ledger_live, public.sieve_live, public.staff_live to service_role;
grant select on public.readings_live, public.ledger_live, public.sieve_live to anon, authenticated;
revoke all on public.staff_live from anon, authenticated;
grant select (id, name) on public.staff_live to anon, authenticated;
do $$
declare
  name text;
begin
  foreach name in array array['readings_live', 'ledger_live', 'sieve_live', 'staff_live'] loop
    if not exists (select from pg_publication_tables where pubname = 'supabase_realtime' and tablename = name) then
      execute format('alter publication supabase_realtime add table public.%I', name);
    end if;
  end loop;
end $$;

-- What a project sends from its database: every change of a table to a private room, and bytes.
create table if not exists public.orders_live (id int primary key, status text);
alter table public.orders_live disable row level security;
grant all on public.orders_live to service_role;
truncate public.orders_live;
create or replace function public.tell_orders() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform realtime.broadcast_changes('club', tg_op, tg_op, tg_table_name, tg_table_schema, new, old);
  return null;
end $$;
create or replace trigger tell_orders after insert or update or delete on public.orders_live
  for each row execute function public.tell_orders();
create or replace function public.say_bytes(hex text, event text, topic text) returns void
language sql security definer set search_path = '' as $$ select realtime.send_binary(decode(hex, 'hex'), event, topic) $$;
