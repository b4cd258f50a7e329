create extension if not exists pg_trgm with schema extensions;
create extension if not exists unaccent with schema extensions;
create extension if not exists fuzzystrmatch with schema extensions;

-- unaccent() is only stable; generated columns want immutable.
create or replace function public.immutable_unaccent(text) returns text
language sql immutable strict parallel safe
as $$ select extensions.unaccent('extensions.unaccent', $1) $$;

create table public.documents (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid default auth.uid() references auth.users on delete cascade,
  title text not null,
  body text not null default '',
  language regconfig not null default 'english',
  tags text[] not null default '{}',
  fts tsvector generated always as (
    setweight(to_tsvector('english', public.immutable_unaccent(title)), 'A') ||
    setweight(to_tsvector('english', public.immutable_unaccent(body)), 'B')
  ) stored,
  embedding halfvec(8),
  created_at timestamptz not null default now()
);

create index documents_fts on public.documents using gin (fts);
create index documents_title_trgm on public.documents using gin (title extensions.gin_trgm_ops);
create index documents_tags on public.documents using gin (tags);
create index documents_embedding on public.documents using hnsw (embedding halfvec_cosine_ops) with (m = 8, ef_construction = 32);
create index on public.nods_page_section using ivfflat (embedding vector_ip_ops) with (lists = 1);

alter table public.documents enable row level security;
create policy "readable by all" on public.documents for select to anon, authenticated using (true);
create policy "owners write" on public.documents to authenticated using (owner_id = (select auth.uid()));

create or replace function public.hybrid_search(
  query_text text,
  query_embedding vector(8) default null,
  match_count int default 10,
  full_text_weight float = 1,
  semantic_weight float = 1,
  rrf_k int = 50
)
returns setof public.documents
language sql stable
set search_path = public, extensions
as $$
with full_text as (
  select id, row_number() over (order by ts_rank_cd(fts, websearch_to_tsquery(query_text)) desc) as rank_ix
  from documents
  where fts @@ websearch_to_tsquery(query_text) or title % query_text
  limit least(match_count, 30) * 2
),
semantic as (
  select id, row_number() over (order by embedding <=> query_embedding::halfvec) as rank_ix
  from documents
  where query_embedding is not null
  limit least(match_count, 30) * 2
)
select documents.*
from full_text
full outer join semantic on full_text.id = semantic.id
join documents on coalesce(full_text.id, semantic.id) = documents.id
order by
  coalesce(1.0 / (rrf_k + full_text.rank_ix), 0.0) * full_text_weight +
  coalesce(1.0 / (rrf_k + semantic.rank_ix), 0.0) * semantic_weight desc
limit least(match_count, 30)
$$;

-- The spatial search is optional: it is left out where PostGIS is not there.
do $$
begin
  create extension if not exists postgis with schema extensions;
  alter table public.documents add column place extensions.geography(point);
exception
  when others then
    raise notice 'no postgis: %', sqlerrm;
end
$$;
