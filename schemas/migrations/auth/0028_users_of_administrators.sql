-- Indexes for administrators who look for users: the beginning of an address, and audit entries that name a user.
-- as: supabase_auth_admin

create index if not exists users_email_pattern_idx on auth.users (pg_catalog.lower(email) text_pattern_ops);
create index if not exists audit_log_entries_actor_idx on auth.audit_log_entries ((payload ->> 'actor_id'), created_at desc);
create index if not exists audit_log_entries_subject_idx
  on auth.audit_log_entries ((payload #>> '{traits,user_id}'), created_at desc)
  where payload #>> '{traits,user_id}' is not null;
