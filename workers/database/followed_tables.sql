-- Catalog statements of live queries. The search path is empty.

-- name: behind
-- The tables on which an answer depends, for the relations ($1) and functions ($2) that it names, JSON arrays of [schema, name].
-- `needed`: the relations themselves; for a view the tables that it reads, for a partitioned table its partitions.
-- `reached`: besides, what row policies of reached tables read, what functions read that are named or that a view or a policy calls. What
-- a function reads is known from the catalog where its body is parsed (begin atomic); in a body of text each word that is the
-- name of a relation or function counts as it, which finds too much rather than too little. SQL that is put together at run time is not seen.
-- Functions of the schema auth (`auth.uid()`) read settings alone.
-- Returns a JSON array of {schema, name, kind, is_published, is_needed}.
with recursive needed(oid) as (
  select c.oid
  from pg_catalog.jsonb_array_elements($1::text::jsonb) as one(pair)
  join pg_catalog.pg_namespace as n on n.nspname = one.pair ->> 0
  join pg_catalog.pg_class as c on c.relnamespace = n.oid and c.relname = one.pair ->> 1
  union
  select below.oid
  from needed
  join pg_catalog.pg_class as c on c.oid = needed.oid
  cross join lateral (
    select d.refobjid as oid
    from pg_catalog.pg_rewrite as r
    join pg_catalog.pg_depend as d on d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and d.objid = r.oid
      and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.refobjid <> c.oid
    where c.relkind = 'v' and r.ev_class = c.oid
    union all
    select i.inhrelid from pg_catalog.pg_inherits as i where c.relkind = 'p' and i.inhparent = c.oid
  ) as below
), own_schema as (
  select oid from pg_catalog.pg_namespace where nspname not in ('pg_catalog', 'information_schema') and nspname !~ '^pg_toast'
), own_relation as (
  select c.oid, pg_catalog.lower(c.relname) as word from pg_catalog.pg_class as c join own_schema as s on s.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v')
), own_function as (
  select p.oid, pg_catalog.lower(p.proname) as word from pg_catalog.pg_proc as p join own_schema as s on s.oid = p.pronamespace
  join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
  where n.nspname <> 'auth' and not exists (
    select from pg_catalog.pg_depend as d
    where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = p.oid and d.deptype = 'e')
), reached(is_relation, oid) as (
  select started.is_relation, started.oid from (
    select true as is_relation, oid from needed
    union all
    select false, p.oid
    from pg_catalog.jsonb_array_elements($2::text::jsonb) as one(pair)
    join pg_catalog.pg_namespace as n on n.nspname = one.pair ->> 0
    join pg_catalog.pg_proc as p on p.pronamespace = n.oid and p.proname = one.pair ->> 1
  ) as started
  union
  select below.is_relation, below.oid
  from reached
  cross join lateral (
    select d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass as is_relation, d.refobjid as oid
    from pg_catalog.pg_rewrite as r
    join pg_catalog.pg_depend as d on d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass and d.objid = r.oid
    where reached.is_relation and r.ev_class = reached.oid
      and d.refclassid in ('pg_catalog.pg_class'::pg_catalog.regclass, 'pg_catalog.pg_proc'::pg_catalog.regclass)
    union all
    select true, i.inhrelid from pg_catalog.pg_inherits as i where reached.is_relation and i.inhparent = reached.oid
    union all
    select d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass, d.refobjid
    from pg_catalog.pg_policy as p
    join pg_catalog.pg_depend as d on d.classid = 'pg_catalog.pg_policy'::pg_catalog.regclass and d.objid = p.oid
    where reached.is_relation and p.polrelid = reached.oid and p.polcmd in ('r', '*')
      and d.refclassid in ('pg_catalog.pg_class'::pg_catalog.regclass, 'pg_catalog.pg_proc'::pg_catalog.regclass)
    union all
    select d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass, d.refobjid
    from pg_catalog.pg_depend as d
    where not reached.is_relation and d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = reached.oid
      and d.refclassid in ('pg_catalog.pg_class'::pg_catalog.regclass, 'pg_catalog.pg_proc'::pg_catalog.regclass)
    union all
    select named.is_relation, named.oid
    from (
      select distinct words.word
      from pg_catalog.pg_proc as p
      join own_function as f on f.oid = p.oid
      cross join lateral pg_catalog.regexp_split_to_table(pg_catalog.lower(p.prosrc), '[^[:alnum:]_$]+') as words(word)
      where not reached.is_relation and p.oid = reached.oid
    ) as words
    join (
      select true as is_relation, oid, word from own_relation
      union all
      select false, oid, word from own_function
    ) as named on named.word = words.word
  ) as below
), behind as (
  select r.oid, exists (select from needed as n where n.oid = r.oid) as is_needed from reached as r where r.is_relation
), published as (
  select n.nspname, c.relname, c.relkind, c.oid, behind.is_needed, exists (
    select from pg_catalog.pg_publication_tables as p
    where p.pubname = 'supabase_realtime' and p.schemaname = n.nspname and p.tablename = c.relname) as is_published
  from behind
  join pg_catalog.pg_class as c on c.oid = behind.oid
  join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema')
), followed as (
  select * from published as one
  where case
    -- for a partitioned table, its own entry or those of its partitions, whichever is published
    when one.relkind = 'p' then one.is_published or not exists (
      select from pg_catalog.pg_inherits as i where i.inhparent = one.oid)
    else one.is_published or not exists (
      select from pg_catalog.pg_inherits as i join published as above on above.oid = i.inhparent and above.is_published
      where i.inhrelid = one.oid)
  end
)
select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
  'schema', nspname, 'name', relname, 'kind', relkind, 'is_published', is_published, 'is_needed', is_needed)
  order by nspname, relname), '[]')
from followed;
