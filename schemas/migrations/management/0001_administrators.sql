-- Administrators, their sessions and tokens, first links, and the audit log.
-- Only the pool management writes them. Role postgres may read them (pg_read_all_data), so secrets are digests or encrypted.
-- as: superuser

grant usage on schema headwater to headwater_management;

create table if not exists headwater.administrators (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  email text not null check (pg_catalog.length(email) operator(pg_catalog.<=) 320),
  rights text not null check (rights in ('owner', 'developer', 'reader')),
  password text,
  totp bytea,
  totp_step bigint not null default 0,
  created_at timestamptz not null default pg_catalog.now(),
  signed_in_at timestamptz,
  disabled_at timestamptz
);
create unique index if not exists administrators_email on headwater.administrators (pg_catalog.lower(email));
comment on column headwater.administrators.password is 'An argon2id hash, encrypted like totp: role postgres may read all tables';
comment on column headwater.administrators.totp is 'Encrypted by the pool with a key that the database does not have';
comment on column headwater.administrators.totp_step is 'Time step of the last accepted code: no code is used twice';

create table if not exists headwater.administrator_sessions (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  administrator_id uuid not null references headwater.administrators on delete cascade,
  secret bytea not null unique check (pg_catalog.octet_length(secret) operator(pg_catalog.=) 32),
  created_at timestamptz not null default pg_catalog.now(),
  used_at timestamptz not null default pg_catalog.now(),
  confirmed_at timestamptz not null default pg_catalog.now(),
  address text not null,
  user_agent text not null
);
create index if not exists sessions_administrator on headwater.administrator_sessions (administrator_id);
comment on column headwater.administrator_sessions.secret is 'SHA-256 of the text in the cookie';
comment on column headwater.administrator_sessions.confirmed_at is 'When the administrator last proved a password or a factor';

create table if not exists headwater.administrator_tokens (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  name text not null check (pg_catalog.length(name) operator(pg_catalog.<=) 200),
  secret bytea not null unique check (pg_catalog.octet_length(secret) operator(pg_catalog.=) 32),
  hint text not null,
  rights text not null check (rights in ('owner', 'developer', 'reader')),
  may_write boolean not null,
  administrator_id uuid references headwater.administrators on delete cascade,
  created_at timestamptz not null default pg_catalog.now(),
  used_at timestamptz,
  expires_at timestamptz
);
comment on column headwater.administrator_tokens.secret is 'SHA-256 of the token';
comment on column headwater.administrator_tokens.hint is 'The last four characters of the token';
comment on column headwater.administrator_tokens.administrator_id is 'Who made it; null: the command line';

create table if not exists headwater.administrator_links (
  secret bytea primary key check (pg_catalog.octet_length(secret) operator(pg_catalog.=) 32),
  administrator_id uuid not null references headwater.administrators on delete cascade,
  expires_at timestamptz not null
);

create table if not exists headwater.administrator_attempts (
  key bytea primary key,
  failures integer not null,
  since timestamptz not null
);
comment on table headwater.administrator_attempts is 'Failed sign-ins of an address or a network, counted to slow down guessing';

create table if not exists headwater.administrator_audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default pg_catalog.clock_timestamp(),
  actor text not null,
  administrator_id uuid,
  token_id uuid,
  operation text not null,
  outcome text not null,
  request_id text not null,
  address text not null,
  arguments jsonb not null,
  before jsonb,
  after jsonb
);
create index if not exists audit_at on headwater.administrator_audit (at);
create index if not exists audit_operation on headwater.administrator_audit (operation, id);
comment on table headwater.administrator_audit is 'What administrators did. The pool adds rows; only the function below deletes them';

-- Delete audit rows of before a moment, at most so many; return how many they were.
create or replace function headwater.sweep_administrator_audit(before timestamptz, most integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  swept integer;
begin
  delete from headwater.administrator_audit
  where id in (select id from headwater.administrator_audit where at < before order by at limit most);
  get diagnostics swept = row_count;
  return swept;
end $$;
revoke all on function headwater.sweep_administrator_audit(timestamptz, integer) from public;
grant execute on function headwater.sweep_administrator_audit(timestamptz, integer) to headwater_management;

grant select, insert, update, delete on
  headwater.administrators, headwater.administrator_sessions, headwater.administrator_tokens,
  headwater.administrator_links, headwater.administrator_attempts
to headwater_management;
grant select, insert on headwater.administrator_audit to headwater_management;
