-- Which request made a change that a webhook sends: a trigger on its table writes the cause into the log, as that of a history does.
-- as: superuser

alter table headwater.webhook_deliveries add column if not exists request_id text;
comment on column headwater.webhook_deliveries.request_id is 'The request that made the change, as far as one is known';

-- Switch the trigger headwater_cause on for the tables of webhooks, and off for others; return how many tables were locked. A table with a
-- history has a trigger of the same function already, and the platform's own tables have none.
--
-- The changes of the tables run as the superuser: event triggers of a project do nothing for one (headwater.copy_event_function), and no
-- statement runs other code of the project.
create or replace function headwater.switch_webhook_causes() returns int
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
  change record;
  locked int := 0;
begin
  for change in
    with named as (
      select pg_catalog.to_regclass(pg_catalog.format('%I.%I', w.table_schema, w.table_name))::oid as relation
      from headwater.webhooks as w where w.source = 'rows'
    ),
    wanted as (
      select n.relation from named as n
      union
      select part.relid from named as n cross join lateral pg_catalog.pg_partition_tree(n.relation::pg_catalog.regclass) as part
    ),
    present as (
      select t.tgrelid as relation from pg_catalog.pg_trigger as t
      where t.tgname = 'headwater_cause' and t.tgenabled = 'A' and t.tgfoid = 'headwater.write_cause()'::pg_catalog.regprocedure
    )
    select pg_catalog.format('%I.%I', s.nspname, c.relname) as name, w.relation is not null as is_on
    from (
      select w.relation from wanted as w
      join pg_catalog.pg_class as c on c.oid = w.relation
      join pg_catalog.pg_namespace as s on s.oid = c.relnamespace
      where c.relkind in ('r', 'p') and c.relpersistence = 'p' and s.nspname not in (
        '_realtime', 'auth', 'cron', 'extensions', 'graphql', 'graphql_public', 'headwater', 'headwater_history', 'headwater_jobs',
        'information_schema', 'net', 'pgbouncer', 'pgmq', 'pgsodium', 'pgtle', 'realtime', 'storage', 'supabase_functions',
        'supabase_migrations', 'vault'
      ) and s.nspname not like 'pg\_%'
        and not exists (select from pg_catalog.pg_trigger as t where t.tgrelid = w.relation and t.tgname = 'headwater_history')
    ) as w
    full join present as p on p.relation = w.relation
    join pg_catalog.pg_class as c on c.oid = coalesce(w.relation, p.relation)
    join pg_catalog.pg_namespace as s on s.oid = c.relnamespace
    where w.relation is null or p.relation is null
  loop
    begin
      execute 'drop trigger if exists headwater_cause on ' || change.name;
      if change.is_on then
        execute 'create trigger headwater_cause before insert or update or delete or truncate on ' || change.name
          || ' for each statement execute function headwater.write_cause()';
        execute 'alter table only ' || change.name || ' enable always trigger headwater_cause';
      end if;
    exception when lock_not_available or undefined_table then  -- the list is read again, with the next change or within a minute
      locked := locked + 1;
    end;
  end loop;
  return locked;
end $$;

revoke all on function headwater.switch_webhook_causes() from public;
grant execute on function headwater.switch_webhook_causes() to headwater_scheduler;
