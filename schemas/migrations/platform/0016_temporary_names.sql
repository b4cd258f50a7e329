-- Temporary types hide nothing from functions that run with a superuser's rights.
-- as: superuser

-- An empty search path begins with pg_temp where types and tables are meant: a session could make a domain `text` there whose
-- check ran as the owner of the function.
alter function extensions.grant_on_extension() set search_path = pg_catalog, pg_temp;
alter function extensions.pgrst_ddl_watch() set search_path = pg_catalog, pg_temp;
alter function extensions.pgrst_drop_watch() set search_path = pg_catalog, pg_temp;
