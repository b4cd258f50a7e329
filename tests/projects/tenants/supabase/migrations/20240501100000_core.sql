create schema core authorization postgres;
grant usage on schema core to anon, authenticated, service_role, supabase_auth_admin;
alter default privileges in schema core grant all on tables to authenticated, service_role;
alter default privileges in schema core grant all on sequences to authenticated, service_role;

create type core.app_permission as enum ('tenant.manage', 'users.invite', 'documents.read', 'documents.write', 'documents.delete');
create type core.app_role as enum ('tenant_admin', 'editor', 'viewer');

create table core.tenants (
  id uuid primary key default extensions.gen_random_uuid(),
  name text not null,
  plan text not null default 'free',
  parent_id uuid references core.tenants,
  constraint not_its_own_parent check (id <> parent_id)
);

create table core.user_roles (
  user_id uuid not null references auth.users on delete cascade,
  tenant_id uuid not null references core.tenants on delete cascade,
  role core.app_role not null default 'viewer',
  primary key (user_id, tenant_id)
);
create index on core.user_roles (tenant_id);

create table core.role_permissions (
  role core.app_role not null,
  permission core.app_permission not null,
  primary key (role, permission)
);

create table core.login_attempts (
  user_id uuid not null primary key,
  last_failed_at timestamptz not null default now()
);
revoke all on core.login_attempts from anon, authenticated, public;
grant all on core.login_attempts to supabase_auth_admin;

insert into core.role_permissions (role, permission)
select 'tenant_admin', p from unnest(enum_range(null::core.app_permission)) p
union all values ('editor'::core.app_role, 'documents.read'::core.app_permission), ('editor', 'documents.write'), ('viewer', 'documents.read');
