-- Saved views of the table editor: those of one administrator, and those that all share.
-- as: superuser

create table if not exists headwater.administrator_views (
  id bigint generated always as identity primary key,
  administrator_id uuid references headwater.administrators on delete cascade,
  table_schema text not null,
  table_name text not null,
  name text not null check (pg_catalog.length(name) operator(pg_catalog.<=) 100),
  content text not null check (pg_catalog.octet_length(content) operator(pg_catalog.<=) 65536),
  changed_at timestamptz not null default pg_catalog.now(),
  unique nulls not distinct (administrator_id, table_schema, table_name, name)
);
comment on table headwater.administrator_views is 'Written by the pool management (saved_views.save, saved_views.remove)';
comment on column headwater.administrator_views.administrator_id is 'Whose view it is; null: all administrators share it';
revoke all on table headwater.administrator_views from public;
grant select, insert, update, delete on headwater.administrator_views to headwater_management;
