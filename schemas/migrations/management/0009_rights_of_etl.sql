-- Programs that copy the project elsewhere (role supabase_etl_admin) read what readers read, and no verifier or secret.
-- as: superuser

-- It was a member of pg_read_all_data, as the role of readers was until 0008. It reads rows as that role's member: present tables and new
-- ones, whichever role creates them. It does not bypass row security, as before. Changes of rows it reads from the log, which its attribute
-- `replication` opens: a publication says which tables.
grant supabase_read_only_user to supabase_etl_admin;
revoke pg_read_all_data from supabase_etl_admin cascade;
