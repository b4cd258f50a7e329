-- Readers read what was granted to them (headwater.grant_reads, management/0005_readers.sql), not all tables.
-- as: superuser

-- With pg_read_all_data a session of a reader, and so every function that a project's view calls in it, could read the tables of
-- administrators and the verifiers of passwords (pg_authid). Nothing can take one schema out of that role.
revoke pg_read_all_data from supabase_read_only_user;
