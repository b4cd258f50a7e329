-- Passkeys of the accounts, and challenges to make or use one.
-- as: supabase_auth_admin

create table if not exists auth.webauthn_credentials (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  user_id uuid not null references auth.users on delete cascade,
  credential_id bytea not null constraint webauthn_credentials_credential_id_key unique,
  public_key bytea not null,
  attestation_type text not null default '',
  aaguid uuid,
  sign_count bigint not null default 0,
  transports jsonb not null default '[]',
  backup_eligible boolean not null default false,
  backed_up boolean not null default false,
  friendly_name text not null default '',
  created_at timestamptz not null default pg_catalog.now(),
  updated_at timestamptz not null default pg_catalog.now(),
  last_used_at timestamptz
);

create table if not exists auth.webauthn_challenges (
  id uuid primary key default pg_catalog.gen_random_uuid(),
  user_id uuid references auth.users on delete cascade,
  challenge_type text not null constraint webauthn_challenges_challenge_type_check
    check (challenge_type in ('signup', 'registration', 'authentication')),
  session_data jsonb not null,
  created_at timestamptz not null default pg_catalog.now(),
  expires_at timestamptz not null
);

alter table auth.webauthn_credentials enable row level security;
alter table auth.webauthn_challenges enable row level security;
