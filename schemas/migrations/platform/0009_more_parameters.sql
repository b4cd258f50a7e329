-- More parameters that role postgres may set; a wildcard for a prefix does not exist, so the usual names stand here.
-- as: superuser

do $$
declare
  parameter text;
begin
  if (select rolsuper from pg_catalog.pg_roles where rolname = 'postgres') then
    return;
  end if;
  foreach parameter in array array[
    'log_connections', 'log_disconnections', 'log_error_verbosity', 'log_executor_stats', 'log_lock_waits',
    'log_min_duration_sample', 'log_min_error_statement', 'log_parameter_max_length',
    'log_parameter_max_length_on_error', 'log_parser_stats', 'log_planner_stats', 'log_replication_commands',
    'log_statement_sample_rate', 'log_statement_stats', 'log_temp_files', 'log_transaction_sample_rate',
    'app.jwt_secret', 'app.service_role_key', 'app.supabase_url', 'app.supabase_service_role_key',
    'app.settings.anon_key', 'app.settings.api_url', 'app.settings.edge_function_url',
    'app.settings.encryption_key', 'app.settings.environment', 'app.settings.functions_url',
    'app.settings.jwt_expiry', 'app.settings.project_ref', 'app.settings.project_url',
    'app.settings.secret_key', 'app.settings.service_key', 'app.settings.site_url',
    'app.settings.supabase_anon_key', 'app.settings.supabase_service_role_key', 'app.settings.url',
    'app.settings.webhook_secret', 'app.settings.webhook_url',
    'pgrst.app_settings', 'pgrst.db_channel', 'pgrst.db_channel_enabled', 'pgrst.db_config',
    'pgrst.db_pre_config', 'pgrst.jwt_cache_max_lifetime', 'pgrst.log_level', 'pgrst.log_query',
    'pgrst.server_timing'
  ] loop
    execute pg_catalog.format('grant set on parameter %s to postgres', parameter);
  end loop;
end $$;
