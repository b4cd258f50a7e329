drop schema if exists public cascade;
create schema public;
grant usage on schema public to anon, authenticated, service_role;

create table public.author (id int primary key, name text not null, email text not null, created_at timestamptz not null default now());
create table public.post (
  id int primary key,
  author_id int not null references public.author,
  title text not null,
  body text not null,
  created_at timestamptz not null default now()
);
create index on public.post (author_id);
create table public.comment (id int primary key, post_id int not null references public.post, body text not null);
create index on public.comment (post_id);

insert into public.author select n, 'author ' || n, 'author' || n || '@example.org' from generate_series(1, 500) n;
insert into public.post
  select n, n % 500 + 1, 'post ' || n, 'lorem ipsum dolor sit amet, consetetur sadipscing elitr' from generate_series(1, 10000) n;
insert into public.comment select n, n % 10000 + 1, 'comment ' || n from generate_series(1, 30000) n;

-- A user sees what his token lets him see; the anonymous key sees everything, as the owner does.
alter table public.author enable row level security;
alter table public.post enable row level security;
alter table public.comment enable row level security;
create policy users on public.author to authenticated using ((select auth.uid()) is not null);
create policy users on public.post to authenticated using ((select auth.uid()) is not null);
create policy users on public.comment to authenticated using ((select auth.uid()) is not null);
create policy anyone on public.author to anon using (true);
create policy anyone on public.post to anon using (true);
create policy anyone on public.comment to anon using (true);

grant all on all tables in schema public to anon, authenticated, service_role;
analyze;
