-- How often a code was tried in vain, after which it dies; and the last step of a TOTP factor, which counts once.
-- as: supabase_auth_admin

alter table auth.one_time_tokens
  add column if not exists failed_attempts int not null default 0
  constraint one_time_tokens_failed_attempts_check check (failed_attempts >= 0);
alter table auth.mfa_challenges
  add column if not exists failed_attempts int not null default 0
  constraint mfa_challenges_failed_attempts_check check (failed_attempts >= 0);
alter table auth.mfa_factors add column if not exists last_totp_step bigint;
