-- What a database has, as lines that must be equal before and after an upgrade: counts of objects and rows, and sequences.
-- Members of extensions belong to their versions and are left out.
with named as (
  select oid, nspname from pg_namespace
  where nspname !~ '^pg_' and nspname <> 'information_schema'
),
members as (select classid, objid from pg_depend where deptype = 'e'),
objects as (
  select 'functions of ' || n.nspname as what from pg_proc as p join named as n on n.oid = p.pronamespace
  where not exists (select from members as m where m.classid = 'pg_proc'::regclass and m.objid = p.oid)
  union all
  select format('relations (%s) of %s', c.relkind, n.nspname) from pg_class as c join named as n on n.oid = c.relnamespace
  where c.relkind <> 't' and c.relpersistence <> 't'
    and not exists (select from members as m where m.classid = 'pg_class'::regclass and m.objid = c.oid)
    and not exists (
      select from pg_index as i join members as m on m.classid = 'pg_class'::regclass and m.objid = i.indrelid
      where i.indexrelid = c.oid
    )
  union all
  select 'types of ' || n.nspname from pg_type as t join named as n on n.oid = t.typnamespace
  where t.typtype in ('d', 'e', 'r')
    and not exists (select from members as m where m.classid = 'pg_type'::regclass and m.objid = t.oid)
  union all
  select format('constraints (%s) of %s', k.contype, n.nspname) from pg_constraint as k join named as n on n.oid = k.connamespace
  where k.contype in ('c', 'f', 'p', 'u', 'x')
    and not exists (select from members as m where m.classid = 'pg_class'::regclass and m.objid = k.conrelid)
  union all
  select 'policies of ' || n.nspname from pg_policy as p join pg_class as c on c.oid = p.polrelid join named as n on n.oid = c.relnamespace
  union all
  select 'triggers of ' || n.nspname from pg_trigger as t join pg_class as c on c.oid = t.tgrelid join named as n on n.oid = c.relnamespace
  where not t.tgisinternal
  union all
  select 'extension ' || extname from pg_extension where extname <> 'plpgsql'
  union all
  select 'publication ' || pubname from pg_publication
  union all
  select 'event triggers' from pg_event_trigger
  union all
  select 'large objects' from pg_largeobject_metadata
  union all
  select 'login of a role' from pg_roles where rolcanlogin
  union all
  select 'role' from pg_roles where rolname !~ '^pg_'
  union all
  select 'setting of a role or database' from pg_db_role_setting, unnest(setconfig)
)
select what, count(*) from objects group by what order by what collate "C";

select 'sequence ' || format('%I.%I', schemaname, sequencename), last_value from pg_sequences
where schemaname !~ '^pg_' order by (schemaname || '.' || sequencename) collate "C";

select format('select %L, count(*) from only %I.%I', format('rows of %I.%I', n.nspname, c.relname), n.nspname, c.relname)
from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where c.relkind in ('r', 'm') and c.relpersistence <> 't' and c.relispopulated
  and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
order by (n.nspname || '.' || c.relname) collate "C" \gexec
