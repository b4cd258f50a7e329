create extension if not exists "btree_gist" with schema "extensions";
create extension if not exists "pgcrypto" with schema "extensions";

create schema if not exists "ledger";
grant usage on schema ledger to authenticated, service_role, auditor;
create type "ledger"."direction" as enum ('debit', 'credit');
create domain "ledger"."amount" as numeric(20, 4) check (value >= 0);

create table "ledger"."accounts" (
    "id" uuid not null default gen_random_uuid(),
    "number" text not null,
    "holder" uuid,
    "currency" character(3) not null default 'EUR'::bpchar,
    "iban" bytea,
    "opened" date not null default CURRENT_DATE,
    "closed" date
);
alter table "ledger"."accounts" enable row level security;
CREATE UNIQUE INDEX accounts_pkey ON ledger.accounts USING btree (id);
CREATE UNIQUE INDEX accounts_number_key ON ledger.accounts USING btree (number) INCLUDE (currency);
alter table "ledger"."accounts" add constraint "accounts_pkey" PRIMARY KEY using index "accounts_pkey";
alter table "ledger"."accounts" add constraint "accounts_holder_fkey" FOREIGN KEY (holder) REFERENCES auth.users(id) ON DELETE RESTRICT not valid;
alter table "ledger"."accounts" validate constraint "accounts_holder_fkey";
alter table "ledger"."accounts" add constraint "closed_after_opened" CHECK ((closed IS NULL) OR (closed >= opened)) not valid;

create table "ledger"."entries" (
    "id" bigint generated always as identity,
    "account_id" uuid not null references ledger.accounts on delete restrict,
    "booked_on" date not null default current_date,
    "direction" ledger.direction not null,
    "amount" ledger.amount not null,
    "signed_amount" numeric generated always as (case direction when 'debit' then -(amount::numeric) else amount::numeric end) stored,
    "text" text,
    "created_by" uuid default auth.uid(),
    "created_at" timestamptz not null default clock_timestamp(),
    primary key ("id", "booked_on")
) partition by range ("booked_on");
create index entries_account on ledger.entries (account_id, booked_on);
alter table ledger.entries enable row level security;

create table ledger.entries_2024 partition of ledger.entries for values from ('2024-01-01') to ('2025-01-01');
create table ledger.entries_2025 partition of ledger.entries for values from ('2025-01-01') to ('2026-01-01') partition by range (booked_on);
create table ledger.entries_2025_spring partition of ledger.entries_2025 for values from ('2025-01-01') to ('2025-07-01');
create table ledger.entries_2025_autumn partition of ledger.entries_2025 for values from ('2025-07-01') to ('2026-01-01') with (fillfactor = 90);
create table ledger.entries_rest partition of ledger.entries default;

create table ledger.rates (
    base char(3) not null,
    quote char(3) not null,
    rate numeric not null check (rate > 0),
    valid tstzrange not null default tstzrange(now(), null),
    constraint one_rate_at_a_time exclude using gist (base with =, quote with =, valid with &&)
);
create table ledger.bookings (
    id uuid primary key default gen_random_uuid(),
    room text not null,
    during tsrange not null,
    cancelled boolean not null default false,
    exclude using gist (room with =, during with &&) where (not cancelled)
);
alter table ledger.rates enable row level security;
alter table ledger.bookings enable row level security;

grant select on all tables in schema ledger to authenticated, auditor;
grant all on all tables in schema ledger to service_role;
grant usage, select on all sequences in schema ledger to service_role;
create policy "own accounts" on ledger.accounts for select to authenticated using (holder = (select auth.uid()));
create policy "own entries" on ledger.entries for select to authenticated
  using (account_id in (select id from ledger.accounts where holder = (select auth.uid())));
create policy "auditors read all" on ledger.entries for select to auditor using (true);
create policy "auditors see accounts" on ledger.accounts for select to auditor using (true);
