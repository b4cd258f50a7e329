-- Role postgres may reset the statistics of statements (statistics.reset of the management interface, and by hand).
-- as: superuser

do $$
declare
  routine record;
begin
  for routine in
    select pg_catalog.format('%I.%I(%s)', schema.nspname, member.proname,
      pg_catalog.pg_get_function_identity_arguments(member.oid)) as signature
    from pg_catalog.pg_extension as extension
    join pg_catalog.pg_depend as part on part.refobjid operator(pg_catalog.=) extension.oid
      and part.refclassid operator(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass
      and part.classid operator(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
    join pg_catalog.pg_proc as member on member.oid operator(pg_catalog.=) part.objid
    join pg_catalog.pg_namespace as schema on schema.oid operator(pg_catalog.=) member.pronamespace
    where extension.extname operator(pg_catalog.=) 'pg_stat_statements'
      and member.proname operator(pg_catalog.=) 'pg_stat_statements_reset'
  loop
    execute pg_catalog.format('grant execute on function %s to postgres', routine.signature);
  end loop;
end $$;
