-- Rows that change at every sign-in or refresh find room on their own page, so that no index is touched.
-- as: supabase_auth_admin

alter table auth.users set (fillfactor = 85);
alter table auth.sessions set (fillfactor = 75);
alter table auth.one_time_tokens set (fillfactor = 75);
