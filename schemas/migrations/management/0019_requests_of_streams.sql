-- What administrators request of the tables of streams: a pause, or all rows once more; and how far behind the log each is.
-- as: superuser

alter table headwater.stream_tables
  add column if not exists is_paused boolean not null default false,
  add column if not exists copy_again_at timestamptz,
  add column if not exists lsn bigint not null default 0,
  add column if not exists lsn_at timestamptz;
comment on column headwater.stream_tables.copy_again_at is 'When it was last requested that all rows are copied again; null once they are';
comment on column headwater.stream_tables.lsn is 'Position of the log up to which the target has everything, as it was known at lsn_at; 0 before the first rows';

alter table headwater.stream_tables drop constraint if exists stream_tables_state_check;
alter table headwater.stream_tables add constraint stream_tables_state_check
  check (state in ('waiting', 'snapshot', 'following', 'away', 'rejected', 'paused'));

grant update (is_paused, copy_again_at) on headwater.stream_tables to headwater_management;
