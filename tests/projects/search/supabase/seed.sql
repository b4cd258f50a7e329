insert into nods_page (path, checksum, meta, type, source) values ('/docs', 'x', '{"title": "Docs"}', 'markdown', 'docs');
insert into nods_page (parent_page_id, path) select id, '/docs/start' from nods_page;
insert into nods_page_section (page_id, content, token_count, embedding, slug, heading)
select id, 'How to start with ' || path, 5, '[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8]', 'start', 'Start' from nods_page;
