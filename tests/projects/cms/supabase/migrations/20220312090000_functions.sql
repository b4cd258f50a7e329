-- Computed columns
create function public.full_name(rec public.authors) returns text immutable strict language sql as
  $$ select format('%s %s', rec.first_name, rec.last_name) $$;
comment on function public.full_name is e'@graphql({"name": "displayName"})';
create function public._excerpt(public.articles) returns text stable language sql as $$ select left($1.body, 140) || '…' $$;

-- Computed relationships
create function public.related(public.articles) returns setof public.articles stable rows 5 language sql as $$
  select * from public.articles o where o.section_id = $1.section_id and o.id <> $1.id order by published_at desc limit 5
$$;
create function public.section(public.articles) returns setof public.sections stable rows 1 language sql as
  $$ select * from public.sections where id = $1.section_id $$;

-- Overloads, variadic and composite arguments
create function public.find_articles(term text) returns setof public.articles stable language sql as
  $$ select * from public.articles where fts @@ websearch_to_tsquery('english', term) $$;
create function public.find_articles(term text, section_path text, most integer default 10) returns setof public.articles stable language sql
  set search_path = public, extensions as
  $$ select a.* from articles a join sections s on s.id = a.section_id where a.fts @@ plainto_tsquery(term) and s.path <@ section_path::ltree limit most $$;
create function public.tagged(variadic names text[]) returns table (slug text, title text, hits bigint) stable language sql as $$
  select a.slug::text, a.title, count(*) from public.articles a
  join public.article_tags x on x.article_id = a.id join public.tags t on t.id = x.tag_id
  where t.name::text = any (names) group by a.id
$$;
create function public.set_cover(article bigint, cover public.image_ref) returns public.image_ref language sql as
  $$ update public.articles set cover = set_cover.cover where id = article returning cover $$;
create function public.export_csv(state public.publication_state default 'published', out filename text, out content text) language plpgsql stable as $$
begin
  filename := format('articles-%s.csv', state);
  select string_agg(format('%s,%L', a.slug, a.title), e'\n') into content from public.articles a where a.state = export_csv.state;
end $$;
create function public.add_numbers(a int default 1, b int default 2) returns int immutable language sql return a + b;
create function public."odd Name"("first Value" text) returns text immutable language sql as $$ select "first Value" $$;

create aggregate public.longest(text) (sfunc = pg_catalog.text_larger, stype = text, combinefunc = pg_catalog.text_larger);

create function public.save_revision() returns trigger language plpgsql as $body$
begin
  if tg_op = 'UPDATE' and old.body is distinct from new.body then
    insert into public.revisions (article_id, version, body)
    select old.id, coalesce(max(version), 0) + 1, old.body from public.revisions where article_id = old.id;
  end if;
  if new.state = 'published' and new.published_at is null then
    new.published_at := now();
  end if;
  return new;
end
$body$;
create trigger save_revision before insert or update on public.articles for each row
  when (new.state is not null) execute function public.save_revision();

create operator public.=~= (leftarg = text, rightarg = text, function = pg_catalog.texticlike);
create cast (public.publication_state as integer) with inout;
create text search configuration public.plain (copy = simple);
create statistics public.articles_state (dependencies) on state, section_id from public.articles;
create collation if not exists public.plain_c (provider = libc, locale = 'C');
