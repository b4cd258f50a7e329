-- The topic that a policy on a channel is asked about.
-- as: superuser

create or replace function realtime.topic() returns text
language sql stable as $$
  select nullif(pg_catalog.current_setting('realtime.topic', true), '')
$$;

grant execute on function realtime.topic() to public;
