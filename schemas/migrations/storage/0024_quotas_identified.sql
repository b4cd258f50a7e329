-- A publication of all tables makes Postgres refuse updates and deletions of tables without a key: quotas gets its identity.
-- as: supabase_storage_admin

alter table storage.quotas replica identity full;
