-- Parameters that migrations and dumps of real projects set as role postgres, which is no superuser.
-- as: superuser

do $$
declare
  parameter text;
begin
  if (select rolsuper from pg_catalog.pg_roles where rolname = 'postgres') then
    return;
  end if;
  foreach parameter in array array[
    'session_replication_role', 'log_min_duration_statement', 'log_statement', 'log_min_messages', 'log_duration',
    'app.settings.jwt_secret', 'app.settings.jwt_exp', 'app.settings.service_role_key', 'app.settings.supabase_url',
    'pgrst.db_schemas', 'pgrst.db_schema', 'pgrst.db_extra_search_path', 'pgrst.db_anon_role', 'pgrst.db_max_rows',
    'pgrst.max_rows', 'pgrst.db_pre_request', 'pgrst.pre_request', 'pgrst.db_root_spec', 'pgrst.root_spec',
    'pgrst.db_tx_end', 'pgrst.tx_end', 'pgrst.db_aggregates_enabled', 'pgrst.aggregates_enabled',
    'pgrst.db_plan_enabled', 'pgrst.plan_enabled', 'pgrst.db_prepared_statements', 'pgrst.prepared_statements',
    'pgrst.db_hoisted_tx_settings', 'pgrst.hoisted_tx_settings', 'pgrst.openapi_mode',
    'pgrst.openapi_security_active', 'pgrst.openapi_server_proxy_uri', 'pgrst.jwt_secret',
    'pgrst.jwt_secret_is_base64', 'pgrst.jwt_aud', 'pgrst.jwt_role_claim_key', 'pgrst.jwt_cache_max_entries',
    'pgrst.cors_allowed_origins', 'pgrst.server_cors_allowed_origins', 'pgrst.server_timing_enabled',
    'pgrst.server_trace_header', 'pgrst.error_verbosity', 'pgrst.client_error_verbosity',
    'pgrst.legacy_target_names'
  ] loop
    execute pg_catalog.format('grant set on parameter %s to postgres', parameter);
  end loop;
end $$;
