-- Roles of administrators: developers whose rights are limited by area and table.
-- as: superuser

create table if not exists headwater.administrator_roles (
  name text primary key check (pg_catalog.length(name) operator(pg_catalog.<=) 60),
  areas json not null,
  tables json not null,
  changed_at timestamptz not null default pg_catalog.now()
);
comment on table headwater.administrator_roles is 'Written by the pool management (roles.save, roles.remove)';
comment on column headwater.administrator_roles.areas is 'By area of operations: read or change; none for an area that is not there';
revoke all on table headwater.administrator_roles from public;
grant select, insert, update, delete on headwater.administrator_roles to headwater_management;

alter table headwater.administrators
  add column if not exists role_name text references headwater.administrator_roles on update cascade;
comment on column headwater.administrators.role_name is 'The role that limits a developer; null: no limits';
alter table headwater.administrators drop constraint if exists administrators_role_of_developer;
alter table headwater.administrators
  add constraint administrators_role_of_developer check (role_name is null or rights operator(pg_catalog.=) 'developer');
