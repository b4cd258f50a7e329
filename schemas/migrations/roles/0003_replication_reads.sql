-- Who reads the write-ahead log turns values into JSON, for which types of any schema must be named.
-- as: superuser

grant pg_read_all_data to supabase_replication_admin;
