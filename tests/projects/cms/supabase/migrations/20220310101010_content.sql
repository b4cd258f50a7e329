comment on schema public is e'@graphql({"inflect_names": true, "max_rows": 50})';

create extension if not exists citext with schema extensions;
create extension if not exists ltree with schema extensions;
create extension if not exists unaccent with schema extensions;

create domain public.slug as extensions.citext check (value ~ '^[a-z0-9]+(-[a-z0-9]+)*$');
create domain public.positive_int as integer check (value > 0);
create type public.publication_state as enum ('draft', 'review', 'published', 'archived');
create type public.image_ref as (bucket text, path text, alt text, width integer, height integer);
create type public.text_range as range (subtype = text);

create table public.authors (
  id uuid primary key default gen_random_uuid(),
  user_id uuid unique references auth.users on delete set null,
  name text not null,
  first_name text,
  last_name text,
  bio text
);

create table public.sections (
  id serial primary key,
  path extensions.ltree not null unique,
  title jsonb not null default '{"en": ""}'
);
create index sections_path on public.sections using gist (path);

create table public.articles (
  id bigint generated always as identity (start with 100) primary key,
  slug public.slug not null unique,
  section_id integer references public.sections,
  author_id uuid references public.authors on delete set null,
  title text not null,
  summary varchar(400),
  body text not null default '',
  cover public.image_ref,
  state public.publication_state not null default 'draft',
  reading_minutes public.positive_int generated always as (greatest(1, length(body) / 1000)) stored,
  words integer generated always as (array_length(regexp_split_to_array(trim(body), '\s+'), 1)) stored,
  fts tsvector generated always as (
    setweight(to_tsvector('simple', coalesce(title, '')), 'A') || setweight(to_tsvector('english', coalesce(summary, '')), 'B') || to_tsvector('english', body)
  ) stored,
  published_at timestamptz,
  metadata json,
  constraint published_has_time check (state <> 'published' or published_at is not null)
);
comment on table public.articles is e'@graphql({"totalCount": {"enabled": true}, "aggregate": {"enabled": true}})';
comment on column public.articles.fts is e'@graphql({"description": "For search only"})';
create index articles_fts on public.articles using gin (fts);
create index articles_published on public.articles (published_at desc nulls last) where state = 'published';

create table public.tags (id smallserial primary key, name extensions.citext unique not null);
create table public.article_tags (
  article_id bigint references public.articles on delete cascade,
  tag_id smallint references public.tags on delete cascade,
  constraint article_tags_pkey primary key (article_id, tag_id)
);
comment on constraint article_tags_tag_id_fkey on public.article_tags is e'@graphql({"foreign_name": "tag", "local_name": "articles"})';

create table public.revisions (
  article_id bigint not null references public.articles on delete cascade,
  version integer not null,
  body text,
  "saved At" timestamptz default now(),
  primary key (article_id, version)
);

do $$ declare t regclass; begin
  for t in select c.oid from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' loop
    execute format('alter table %s enable row level security', t);
  end loop;
end $$;
create policy "published is public" on public.articles for select using (state = 'published' or (select auth.role()) = 'service_role');
create policy "authors write" on public.articles for all to authenticated using (
  author_id in (select id from public.authors where user_id = (select auth.uid()))
);
create policy "public" on public.tags for select using (true);
create policy "public" on public.sections for select using (true);
create policy "public" on public.authors for select using (true);
create policy "public" on public.article_tags for select using (true);
