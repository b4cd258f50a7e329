create schema if not exists "ledger";
create type "ledger"."direction" as enum ('debit', 'credit');
create domain "ledger"."amount" as numeric(20, 4) check (value >= 0);
