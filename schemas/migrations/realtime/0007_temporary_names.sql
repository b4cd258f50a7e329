-- Temporary types hide nothing from functions that run with a superuser's rights (platform, 0016).
alter function extensions.headwater_mark_schema() set search_path = pg_catalog, pg_temp;
alter function realtime.schema_known() set search_path = pg_catalog, pg_temp;
