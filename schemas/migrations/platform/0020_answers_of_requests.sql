-- Role postgres reads the requests of pg_net and their answers by a grant, now that it does not read everything (roles, 0005).
-- as: superuser
do $$
begin
  if exists (select from pg_catalog.pg_extension where extname = 'pg_net') then
    grant select on all tables in schema net to postgres with grant option;
  end if;
end $$;
