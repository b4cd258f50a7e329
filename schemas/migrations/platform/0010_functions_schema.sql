-- Schema supabase_functions: what the platform makes there belongs in postgres' hands too, to grant on.
-- as: superuser

alter role supabase_functions_admin set search_path = supabase_functions;
grant all on schema supabase_functions to supabase_functions_admin;
alter default privileges for role supabase_admin, supabase_functions_admin in schema supabase_functions
  grant all on tables to postgres with grant option;
alter default privileges for role supabase_admin, supabase_functions_admin in schema supabase_functions
  grant all on functions to postgres with grant option;
alter default privileges for role supabase_admin, supabase_functions_admin in schema supabase_functions
  grant all on sequences to postgres with grant option;
