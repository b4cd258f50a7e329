-- Tables that nothing here uses: dumps of projects name them.
-- as: supabase_auth_admin

create table if not exists auth.instances (
  id uuid primary key,
  uuid uuid,
  raw_base_config text,
  created_at timestamptz,
  updated_at timestamptz
);

create table if not exists auth.schema_migrations (
  version varchar(255) primary key
);

alter table auth.instances enable row level security;
alter table auth.schema_migrations enable row level security;
