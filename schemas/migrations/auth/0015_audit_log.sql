-- What happened to the accounts.
-- as: supabase_auth_admin

create table if not exists auth.audit_log_entries (
  instance_id uuid,
  id uuid primary key,
  payload json,
  created_at timestamptz,
  ip_address varchar(64) not null default ''
);

alter table auth.audit_log_entries enable row level security;
