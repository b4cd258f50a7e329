create view public.balances with (security_invoker = true) as
with sums as (
  select account_id, sum(signed_amount) as balance, max(booked_on) as last_booking from ledger.entries group by account_id
)
select a.id, a.number, a.currency, coalesce(s.balance, 0) as balance, s.last_booking
from ledger.accounts a left join sums s on s.account_id = a.id;
revoke all on public.balances from anon;

create function ledger.transfer(source uuid, target uuid, amount numeric, text text default null) returns bigint
language plpgsql security definer set search_path = ledger as $$
declare
  booked bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(least(source, target)::text, 0));
  if not exists (select 1 from accounts where id = source and (holder = auth.uid() or auth.role() = 'service_role')) then
    raise insufficient_privilege using message = 'this is not your account';
  end if;
  with both_sides as (
    insert into entries (account_id, direction, amount, text) values (source, 'debit', transfer.amount, transfer.text), (target, 'credit', transfer.amount, transfer.text)
    returning id, direction
  )
  select id into booked from both_sides where direction = 'debit';
  return booked;
end $$;

create function ledger.statement(account uuid, month date default date_trunc('month', now())::date)
returns table (booked_on date, text text, amount numeric, balance numeric) language sql stable set search_path = ledger
begin atomic
  select e.booked_on, e.text, e.signed_amount, sum(e.signed_amount) over (order by e.booked_on, e.id)
  from ledger.entries e where e.account_id = statement.account and e.booked_on >= statement.month;
end;

create view public.monthly as
select account_id, date_trunc('month', booked_on)::date as month, direction, sum(amount) as amount
from ledger.entries group by grouping sets ((account_id, 2, direction), (account_id, 2));
alter view public.monthly set (security_invoker = on);
alter table ledger.accounts add column pin_hash text, add column checksum text generated always as (md5(number || currency::text)) stored;
create function ledger.set_pin(account uuid, pin text) returns void language sql security definer set search_path = '' as $$
  update ledger.accounts set pin_hash = extensions.crypt(pin, extensions.gen_salt('bf', 4)), iban = extensions.hmac('DE00' || number, 'pepper', 'sha256') where id = account
$$;
create function ledger.check_pin(account uuid, pin text) returns boolean language sql stable security definer set search_path = '' as $$
  select pin_hash = extensions.crypt(pin, pin_hash) from ledger.accounts where id = account
$$;
revoke select on ledger.accounts from authenticated;
grant select (id, number, holder, currency, opened, closed) on ledger.accounts to authenticated;

create or replace function public.rls_auto_enable() returns event_trigger language plpgsql security definer set search_path = pg_catalog as $$
declare
  cmd record;
begin
  for cmd in select * from pg_event_trigger_ddl_commands() where command_tag in ('CREATE TABLE', 'CREATE TABLE AS') loop
    if cmd.schema_name = 'public' then
      execute format('alter table if exists %s enable row level security', cmd.object_identity);
    end if;
  end loop;
end $$;
create table public.notices (id int primary key, body text);
alter table public.notices enable row level security;
