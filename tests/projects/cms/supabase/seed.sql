insert into public.sections (path, title) values ('news', '{"en": "News", "de": "Nachrichten"}'), ('news.world', '{"en": "World"}'), ('culture', '{"en": "Culture"}');
insert into public.authors (name, first_name, last_name) values ('Clarice', 'Clarice', 'L.'), ('Italo', 'Italo', 'C.');
insert into public.author_pages (name) values ('Anna');
insert into public.articles (slug, section_id, author_id, title, body, cover, state)
select 'article-' || n, 1 + n % 3, (select id from public.authors order by name limit 1), 'Article ' || n, repeat('word ', n * 100),
       row('media', n || '.png', 'An "image"', 800, 600)::public.image_ref, case when n % 4 = 0 then 'draft' else 'published' end::public.publication_state
from generate_series(1, 20) as n;
insert into public.tags (name) values ('Books'), ('films');
insert into public.article_tags select a.id, t.id from public.articles a cross join public.tags t where (a.id + t.id) % 2 = 0;
update public.articles set body = body || 'more' where id < 105;
do $do$ begin
  assert (select sum(articles) from site.archive) = 15;
  assert (select count(*) from public.revisions) > 0;
end $do$;
