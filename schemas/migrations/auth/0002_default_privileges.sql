-- What the auth role makes in its schema belongs in postgres' and the dashboard's hands too; postgres lets others read.
-- as: supabase_auth_admin

alter default privileges for role supabase_auth_admin in schema auth
  grant select on tables to postgres with grant option;
alter default privileges for role supabase_auth_admin in schema auth
  grant all on tables to postgres, dashboard_user;
alter default privileges for role supabase_auth_admin in schema auth
  grant all on sequences to postgres, dashboard_user;
alter default privileges for role supabase_auth_admin in schema auth
  grant all on functions to postgres, dashboard_user;
