-- Options stored in the database: `alter role <login role> set pgrst.<option> = ...` (database_options.py).

-- name: of_role
-- Settings of the login role with that prefix: those for this database take precedence over general ones. `safeupdate.enabled`,
-- the setting of a module that has the data API require filters, counts as the option of that purpose.
select distinct on (option.name) option.name, option.value
from pg_catalog.pg_db_role_setting stored
cross join pg_catalog.unnest(stored.setconfig) as setting
cross join lateral (
  select
    case when pg_catalog.starts_with(setting, 'pgrst.') then pg_catalog.substr(pg_catalog.split_part(setting, '=', 1), 7)
    else 'require_filters' end as name,
    pg_catalog.substr(setting, pg_catalog.strpos(setting, '=') + 1) as value
) option
where stored.setrole = (select oid from pg_catalog.pg_roles where rolname = session_user)
  and (stored.setdatabase = 0 or stored.setdatabase = (
    select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()
  ))
  and (pg_catalog.starts_with(setting, 'pgrst.') or pg_catalog.starts_with(setting, 'safeupdate.enabled='))
order by option.name, stored.setdatabase desc

-- name: forget
-- Clears the options of this session, which were read when it started and may be old, so that only those remain which the
-- pre-config function sets afterwards.
select pg_catalog.count(pg_catalog.set_config('pgrst.' || name, '', true))
from pg_catalog.unnest($1::text[]) as name

-- name: of_session
-- What the pre-config function has set.
select name, pg_catalog.current_setting('pgrst.' || name, true) as value
from pg_catalog.unnest($1::text[]) as name
where coalesce(pg_catalog.current_setting('pgrst.' || name, true), '') <> ''
