-- Temporary types hide nothing from functions that run with a superuser's rights (platform, 0016).
-- as: superuser

alter function realtime.schema_known() set search_path = pg_catalog, pg_temp;
