-- Findings of the advisors that administrators dismissed: they are not listed any more until they are restored.
-- as: superuser

create table if not exists headwater.dismissed_findings (
  cache_key text primary key check (pg_catalog.octet_length(cache_key) operator(pg_catalog.<=) 1000),
  actor text not null,
  reason text not null check (pg_catalog.length(reason) operator(pg_catalog.<=) 1000),
  at timestamptz not null default pg_catalog.now()
);
comment on table headwater.dismissed_findings is 'Written by the pool management (advisors.dismiss, advisors.restore)';
revoke all on table headwater.dismissed_findings from public;
grant select, insert, update, delete on headwater.dismissed_findings to headwater_management;
