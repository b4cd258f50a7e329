-- pg_stat_statements stands ready in schema extensions, owned by postgres: tools and dashboards read it.
-- as: postgres

do $$
begin
  if exists (select from pg_catalog.pg_available_extensions where name = 'pg_stat_statements')
    and not exists (select from pg_catalog.pg_extension where extname = 'pg_stat_statements')
  then
    begin
      create extension pg_stat_statements with schema extensions;
    exception when insufficient_privilege then
      null;  -- on an outside server only a superuser may create it
    when others then
      raise notice 'extension pg_stat_statements was not created: %', sqlerrm;
    end;
  end if;
end $$;
