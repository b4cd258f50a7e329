-- The publication of row changes: empty, owned by postgres, so that projects add their tables.
-- as: superuser

do $$
begin
  if not exists (select from pg_catalog.pg_publication where pubname = 'supabase_realtime') then
    create publication supabase_realtime;
  end if;
end $$;

alter publication supabase_realtime owner to postgres;
