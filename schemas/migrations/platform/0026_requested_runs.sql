-- Runs that an administrator requests: the scheduler starts each job or function named here once, as if it were due now.
-- as: superuser

create table if not exists headwater.requested_runs (
  schedule text primary key,
  requested_at timestamptz not null default pg_catalog.now()
);
comment on table headwater.requested_runs is 'Runs that administrators requested and the scheduler has not started yet';

revoke all on headwater.requested_runs from public;
grant select, insert, update on headwater.requested_runs to headwater_management;
grant select, delete on headwater.requested_runs to headwater_scheduler;
grant select on headwater.last_runs to headwater_management;
grant execute on function headwater.scheduler_serves() to headwater_management;
