create schema site;
grant usage on schema site to anon, authenticated, service_role;
alter default privileges for role postgres in schema site grant select on tables to anon, authenticated, service_role;

create view site.articles with (security_invoker = true, check_option = local) as
  select id, slug::text as slug, title, summary, body, published_at, author_id, section_id
  from public.articles where state = 'published';

create view site.feed as
select a.slug::text, a.title, a.published_at, w.name as author, s.path::text as section,
       coalesce((select jsonb_agg(t.name order by t.name) from public.article_tags x join public.tags t on t.id = x.tag_id where x.article_id = a.id), '[]') as tags,
       rank() over (partition by a.section_id order by a.published_at desc) as position
from public.articles a
left join public.authors w on w.id = a.author_id
left join lateral (select path from public.sections where id = a.section_id) s on true
where a.state = 'published';
comment on view site.feed is e'Newest first.\n@graphql({"primary_key_columns": ["slug"]})';

create materialized view site.archive as
  select date_trunc('month', published_at at time zone 'utc')::date as month, count(*) as articles, array_agg(slug::text order by published_at) as slugs
  from public.articles where state = 'published' group by 1
with no data;
create unique index archive_month on site.archive (month);
grant select on site.archive to anon;

create or replace function site.refresh_archive() returns trigger language plpgsql security definer set search_path = '' as $$
begin
  refresh materialized view site.archive;
  return null;
end $$;
create trigger refresh_archive after insert or update or delete or truncate on public.articles
  for each statement execute function site.refresh_archive();

create view public.author_pages as select id, name, count(*) over () as total from public.authors;
create or replace function public.author_pages_write() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into public.authors (name) values (new.name) returning id into new.id;
  end if;
  return new;
end $$;
create trigger author_pages_write instead of insert on public.author_pages for each row execute function public.author_pages_write();
