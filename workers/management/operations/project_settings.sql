-- Statements of operations on settings (project_settings.py).

-- name: changed
-- Settings that a file, the command line, the database or a role set: numbers without a unit as numbers, switches as booleans.
select coalesce(pg_catalog.jsonb_object_agg(
  setting.name,
  case
    when setting.vartype = 'bool' then pg_catalog.to_jsonb(setting.setting = 'on')
    when setting.vartype = 'integer' and setting.unit is null then pg_catalog.to_jsonb(setting.setting::bigint)
    else pg_catalog.to_jsonb(pg_catalog.current_setting(setting.name))
  end), '{}')
from pg_catalog.pg_settings as setting
where setting.name = any ($1::text[]) and setting.source in
  ('environment variable', 'configuration file', 'command line', 'global', 'database')
