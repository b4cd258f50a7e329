-- Codes for who has lost the other factors: one set an account, each code for one use.
-- as: supabase_auth_admin

create table if not exists auth.mfa_recovery_code_sets (
  id uuid primary key,
  user_id uuid not null constraint mfa_recovery_code_sets_user_id_key unique references auth.users on delete cascade,
  mfa_factor_id uuid not null constraint mfa_recovery_code_sets_mfa_factor_id_key unique
    references auth.mfa_factors on delete cascade,
  failed_verification_count int not null default 0
    constraint mfa_recovery_code_sets_failed_verification_count_check check (failed_verification_count >= 0),
  verification_locked_until timestamptz,
  created_at timestamptz not null default pg_catalog.now(),
  updated_at timestamptz not null default pg_catalog.now()
);

create table if not exists auth.mfa_recovery_codes (
  id uuid primary key,
  mfa_recovery_code_set_id uuid not null references auth.mfa_recovery_code_sets on delete cascade,
  code_hash text not null,
  consumed_at timestamptz,
  created_at timestamptz not null default pg_catalog.now()
);

alter table auth.mfa_recovery_code_sets enable row level security;
alter table auth.mfa_recovery_codes enable row level security;
