-- Counters that all workers share: windows, leaking buckets, tries in vain. A crash may empty them, so they are not logged.
-- as: supabase_auth_admin

create unlogged table if not exists auth.rate_limits (
  name text primary key constraint rate_limits_name_length check (pg_catalog.char_length(name) <= 512),
  window_start timestamptz not null default pg_catalog.now(),
  count double precision not null default 0 constraint rate_limits_count_check check (count >= 0),
  updated_at timestamptz not null default pg_catalog.now()
) with (fillfactor = 50);

comment on column auth.rate_limits.name is 'What is counted, and for whom: `email_sent`, `otp:203.0.113.7`';
comment on column auth.rate_limits.window_start is 'When the count began';
comment on column auth.rate_limits.count is 'Times since then; of a leaking bucket its level at updated_at';
comment on column auth.rate_limits.updated_at is 'The last time; rows that are older than every window are swept';

alter table auth.rate_limits enable row level security;
