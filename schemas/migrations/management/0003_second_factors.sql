-- Second factors of administrators: TOTP, passkeys, recovery codes, and the networks from which they have signed in.
-- as: superuser

alter table headwater.administrators add column if not exists totp_pending bytea;
comment on column headwater.administrators.totp_pending is 'A secret whose first code is awaited, encrypted like totp';

alter table headwater.administrator_sessions
  add column if not exists method text not null default 'link',
  add column if not exists needs_factor boolean not null default false;
comment on column headwater.administrator_sessions.method is 'How it began: password, link or passkey';
comment on column headwater.administrator_sessions.needs_factor is 'The second factor is missing: the session may do nothing but give it';

create table if not exists headwater.administrator_passkeys (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  administrator_id uuid not null references headwater.administrators on delete cascade,
  credential_id bytea not null unique,
  public_key bytea not null,
  rp_id text not null,
  sign_count bigint not null,
  aaguid uuid not null,
  transports jsonb not null,
  backup_eligible boolean not null,
  backed_up boolean not null,
  name text not null check (pg_catalog.length(name) operator(pg_catalog.<=) 120),
  created_at timestamptz not null default pg_catalog.now(),
  used_at timestamptz
);
create index if not exists passkeys_administrator on headwater.administrator_passkeys (administrator_id);
comment on column headwater.administrator_passkeys.rp_id is 'The host name to which the browser bound the passkey';

create table if not exists headwater.administrator_recovery_codes (
  administrator_id uuid not null references headwater.administrators on delete cascade,
  code bytea not null check (pg_catalog.octet_length(code) operator(pg_catalog.=) 32),
  primary key (administrator_id, code)
);
comment on table headwater.administrator_recovery_codes is 'HMACs of unused codes; a code that was used is deleted';

create table if not exists headwater.administrator_challenges (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  challenge bytea not null,
  purpose text not null check (purpose in ('registration', 'authentication')),
  administrator_id uuid references headwater.administrators on delete cascade,
  expires_at timestamptz not null
);
create index if not exists challenges_administrator on headwater.administrator_challenges (administrator_id);
comment on table headwater.administrator_challenges is 'Of WebAuthn; an answer deletes its challenge before it is verified';

create table if not exists headwater.administrator_networks (
  administrator_id uuid not null references headwater.administrators on delete cascade,
  network bytea not null check (pg_catalog.octet_length(network) operator(pg_catalog.=) 32),
  seen_at timestamptz not null default pg_catalog.now(),
  primary key (administrator_id, network)
);
comment on table headwater.administrator_networks is
  'Digests of networks from which an administrator signed in: guesses from elsewhere do not lock them out there';

grant select, insert, update, delete on
  headwater.administrator_passkeys, headwater.administrator_recovery_codes, headwater.administrator_challenges,
  headwater.administrator_networks
to headwater_management;
