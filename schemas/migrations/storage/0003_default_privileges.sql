-- What the storage role makes in its schema role postgres may use and grant; nothing made here lets a caller TRUNCATE.
-- as: supabase_storage_admin

alter default privileges for role supabase_storage_admin in schema storage
  grant all on tables to postgres with grant option;
alter default privileges for role supabase_storage_admin in schema storage
  grant all on sequences to postgres with grant option;
alter default privileges for role supabase_storage_admin in schema storage
  grant all on functions to postgres with grant option;

-- as: superuser

alter default privileges for role postgres, supabase_admin in schema storage
  revoke truncate on tables from anon, authenticated, service_role;
