-- First answers of writes with an Idempotency-Key: kept in the transaction of the write, returned to the same request.
-- as: superuser

-- The data pools log in as `authenticator`, and so does all code of the project that runs in their transactions: `reset role` is open
-- to it. So these functions trust nobody. What they store is encrypted and authenticated by the workers (workers/idempotency), with
-- a key that the database does not have; `slot` and `caller` are keyed hashes, so nobody else can name a record. Nothing here
-- changes or deletes a record before it expires, and `keep_s` is bounded, so what hostile code adds is swept like the rest.
create table if not exists headwater.idempotent_answers (
  slot bytea primary key check (pg_catalog.octet_length(slot) operator(pg_catalog.=) 32),
  caller bytea not null check (pg_catalog.octet_length(caller) operator(pg_catalog.=) 32),
  answer bytea not null check (pg_catalog.octet_length(answer) operator(pg_catalog.<=) 33554432),
  size int not null,
  expires_at timestamptz not null
);
alter table headwater.idempotent_answers alter column answer set storage external;
create index if not exists idempotent_answers_caller on headwater.idempotent_answers (caller) include (size, expires_at);
create index if not exists idempotent_answers_expiry on headwater.idempotent_answers (expires_at);
comment on table headwater.idempotent_answers is 'Encrypted first answers of writes that carried an Idempotency-Key';

-- Reserve a key for this transaction. Raises HW001 where an answer is stored, HW002 while another transaction has the key. The lock is
-- one of the transaction: no code can give it back before the end.
create or replace function headwater.claim_idempotency_key(of_slot bytea) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(pg_catalog.encode(of_slot, 'hex'), 22)) then
    raise exception 'a request with this Idempotency-Key is being carried out' using errcode = 'HW002';
  end if;
  if exists (
    select from headwater.idempotent_answers as kept
    where kept.slot = of_slot and kept.expires_at > pg_catalog.clock_timestamp()
  ) then
    raise exception 'a request with this Idempotency-Key was carried out' using errcode = 'HW001';
  end if;
end $$;

-- Store the answer of this transaction. A transaction with an older snapshot may not have seen the record of one that ended
-- meanwhile: the primary key fails it here, and its write with it.
create or replace function headwater.keep_idempotent_answer(
  of_slot bytea, of_caller bytea, sealed bytea, keep_s double precision
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  until constant timestamptz := pg_catalog.clock_timestamp()
    + pg_catalog.make_interval(secs => least(greatest(keep_s, 1), 604800));
begin
  insert into headwater.idempotent_answers as kept (slot, caller, answer, size, expires_at)
  values (of_slot, of_caller, sealed, pg_catalog.octet_length(sealed), until)
  on conflict (slot) do update
  set caller = excluded.caller, answer = excluded.answer, size = excluded.size, expires_at = excluded.expires_at
  where kept.expires_at <= pg_catalog.clock_timestamp();
  if not found then
    raise exception 'a request with this Idempotency-Key was carried out' using errcode = 'HW001';
  end if;
end $$;

create or replace function headwater.idempotent_answer(of_slot bytea) returns bytea
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select kept.answer from headwater.idempotent_answers as kept
  where kept.slot = of_slot and kept.expires_at > pg_catalog.clock_timestamp()
$$;

-- Count what is stored for a caller.
create or replace function headwater.idempotency_usage(of_caller bytea, out keys bigint, out bytes bigint)
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select pg_catalog.count(*), coalesce(pg_catalog.sum(kept.size), 0) from headwater.idempotent_answers as kept
  where kept.caller = of_caller and kept.expires_at > pg_catalog.clock_timestamp()
$$;

-- Delete records that have expired, at most so many, and return how many they were.
create or replace function headwater.sweep_idempotent_answers(most int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  swept int;
begin
  delete from headwater.idempotent_answers as kept
  where kept.slot in (
    select old.slot from headwater.idempotent_answers as old
    where old.expires_at <= pg_catalog.clock_timestamp()
    order by old.expires_at limit least(most, 10000) for update skip locked
  );
  get diagnostics swept = row_count;
  return swept;
end $$;

revoke all on table headwater.idempotent_answers from public;
revoke all on function
  headwater.claim_idempotency_key(bytea), headwater.keep_idempotent_answer(bytea, bytea, bytea, double precision),
  headwater.idempotent_answer(bytea), headwater.idempotency_usage(bytea), headwater.sweep_idempotent_answers(int)
from public;
grant usage on schema headwater to authenticator;
grant execute on function
  headwater.claim_idempotency_key(bytea), headwater.keep_idempotent_answer(bytea, bytea, bytea, double precision),
  headwater.idempotent_answer(bytea), headwater.idempotency_usage(bytea), headwater.sweep_idempotent_answers(int)
to authenticator;
