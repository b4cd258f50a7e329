-- Schema net is made by extension pg_net, which refuses one that it does not own: an empty one goes away.
-- as: superuser

do $$
declare
  net constant oid := pg_catalog.to_regnamespace('net');
begin
  if net is not null
    and not exists (
      select from pg_catalog.pg_depend
      where refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass and refobjid = net
    )
    and not exists (
      select from pg_catalog.pg_depend
      where classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass and objid = net and deptype = 'e'
    )
  then
    drop schema net;
  end if;
end $$;
