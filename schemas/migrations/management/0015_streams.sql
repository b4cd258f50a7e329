-- Streams to other systems (workers/streams): how the copy of each table does, and where it is.
-- as: superuser

create table if not exists headwater.stream_tables (
  stream text not null,
  table_schema text not null,
  table_name text not null,
  kind text not null,
  state text not null default 'waiting' check (state in ('waiting', 'snapshot', 'following', 'away', 'rejected')),
  problem text not null default '',
  problem_since timestamptz,
  rows bigint not null default 0,
  snapshots int not null default 0,
  snapshot_reason text not null default '',
  written_at timestamptz,
  lag_s double precision not null default 0,
  place text not null default '',
  idle_place text not null default '',
  idle_seq bigint not null default 0,
  primary key (stream, table_schema, table_name)
);
comment on table headwater.stream_tables is
  'Tables of streams (docs/streams.md). place: up to where a target that keeps no place has it; idle_seq: up to where nothing followed idle_place';

revoke all on headwater.stream_tables from public;
grant select, insert, update, delete on headwater.stream_tables to headwater_scheduler;
grant select on headwater.stream_tables to headwater_management;
