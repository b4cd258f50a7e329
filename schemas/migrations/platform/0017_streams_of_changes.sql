-- Which stream of changes each replication slot was read into last.
-- as: superuser

-- A slot that another broker's stream was fed from meanwhile has let go of changes that this one never got.
create table if not exists headwater.streams_of_changes (
  slot text primary key,
  stream text not null
);
revoke all on headwater.streams_of_changes from public;
grant usage on schema headwater to supabase_replication_admin;
grant select, insert, update on headwater.streams_of_changes to supabase_replication_admin;
