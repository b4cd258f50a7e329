-- Drains of log lines (workers/management/areas/logs/drains): up to where each has sent each stream, and how it does.
-- as: superuser

create table if not exists headwater.log_drains (
  drain text not null,
  stream text not null,
  created text not null,
  seq bigint not null,
  sent bigint not null default 0,
  rejected bigint not null default 0,
  lost bigint not null default 0,
  failing_since timestamptz,
  error text not null default '',
  primary key (drain, stream)
);
comment on table headwater.log_drains is
  'Up to where streams of log lines were sent. lost: messages that left the stream before the receiver took them; rejected: lines that it refused';

revoke all on headwater.log_drains from public;
grant select, insert, update, delete on headwater.log_drains to headwater_management;
