-- What is fuzzed: a column of every kind, keys, embeds, a view, policies, functions of every shape. No function waits.
create type public.mood as enum ('calm', 'wild');
create type public.spot as (x double precision, y double precision);
create domain public.short as varchar(8) check (value <> '');

create table public.kinds (
  id int primary key, small smallint, big bigint, exact numeric(8, 2), rough double precision, yes boolean not null default false,
  words text not null, code varchar(5), stamp timestamptz, day date, hour time, span interval, key uuid, doc jsonb not null default '{}',
  raw bytea, address inet, counts int[], tags text[] not null default '{}', mood public.mood, place public.spot, brief public.short,
  bounds int4range, search tsvector
);
create table public.parents (id bigint generated always as identity primary key, name text not null unique);
create table public.children (
  parent bigint not null references public.parents on delete cascade, place int not null, name text,
  doubled int generated always as (place % 1000 * 2) stored, primary key (parent, place)
);
create table public."odd name" (id int primary key, "a.b" int, "say ""hi""" text, "select" text);
create view public.names as select id, name from public.parents;
create view public.counted as select parent, count(*) as children from public.children group by parent;
create table public.guarded (id int primary key, owner text, body text, parent bigint references public.parents);
alter table public.guarded enable row level security;
create policy own on public.guarded using (owner = current_setting('request.jwt.claims', true)::json ->> 'sub');
create policy own_tenant on public.guarded using (owner = current_setting('app.tenant', true));
create view public.judged with (security_invoker = on) as select * from public.guarded;
create table public.partly (id int primary key, shown text, hidden text, parent bigint references public.parents);
create schema plans;
create table plans.plan (id int primary key, body text);

comment on schema public is '@graphql({"inflect_names": true, "additions": true})';
create function public.add_them(a int, b int default 10) returns int language sql immutable as 'select a + b';
create function public.family(named text) returns setof public.parents language sql stable as 'select * from parents where name = named';
create function public.listed(n int, mood public.mood) returns table (one int, feeling public.mood) language sql stable as
  'select one, mood from generate_series(1, least(n, 5)) as one';
create function public.joined(variadic words text[]) returns text language sql immutable as $$ select array_to_string(words, '-') $$;
create function public.moved(place public.spot, by numeric) returns public.spot language sql immutable as
  'select row((place).x + by, (place).y)::spot';
create function public.whole(jsonb) returns jsonb language sql immutable as 'select $1';
create function public.shouted(text) returns text language sql immutable as 'select upper($1)';
create function public.measured(bytea) returns int language sql immutable as 'select length($1)';
create function public.written(name text) returns bigint language sql as 'insert into parents (name) values (written.name) on conflict do nothing returning id';
create function public.set_for_me(name text, value text) returns text language sql as 'select set_config(name, value, true)';
create function public.nothing(at timestamptz default null) returns void language sql as '';

insert into public.parents (name) select 'parent ' || n from generate_series(1, 20) n;
insert into public.children (parent, place, name) select n, n, 'child ' || n from generate_series(1, 20) n;
insert into public.kinds (id, words) select n, 'words ' || n from generate_series(1, 20) n;

-- Secrets that no answer may hold. Nobody writes these tables through an interface, or a case could give its row away.
insert into public.guarded select n, 'u' || n, 'row of u' || n from generate_series(1, 3) n;
insert into public.guarded select n, 'somebody else', 'planted-secret-' || n, 1 from generate_series(4, 9) n;
insert into public.partly select n, 'shown ' || n, 'planted-secret-' || n, n from generate_series(1, 5) n;
insert into plans.plan values (1, 'planted-secret-0');
revoke insert, update, delete, truncate on public.guarded, public.judged, public.partly from anon, authenticated, service_role;
revoke all on public.partly from anon, authenticated;
grant select (id, shown, parent) on public.partly to anon, authenticated;
alter publication supabase_realtime add table public.guarded, public.parents, public.kinds;

-- What was written, in one word; and what keeps tables small and the log busy with secrets.
create function public.state_of_all() returns text language sql stable security definer set search_path = '' as $$
  select md5(concat_ws('|',
    (select string_agg(t::text, '|' order by t.id) from public.kinds t), (select string_agg(t::text, '|' order by t.id) from public.parents t),
    (select string_agg(t::text, '|' order by t.parent, t.place) from public.children t), (select string_agg(t::text, '|' order by t.id) from public."odd name" t)))
$$;
create function public.tidied() returns void language sql security definer set search_path = '' as $$
  update public.guarded set body = 'planted-secret-' || id where id > 3;
  delete from public.kinds where id not between 1 and 20;
  insert into public.kinds (id, words) select n, 'words ' || n from generate_series(1, 20) n on conflict do nothing;
  delete from public.parents where name not like 'parent %';
  delete from public."odd name";
  delete from public.children where place not between 1 and 20;
$$;
revoke execute on function public.tidied from public, anon, authenticated;

-- Buckets: one that all write, one whose only object is somebody else's.
insert into storage.buckets (id, name, public) values ('open', 'open', true), ('closed', 'closed', false), ('small', 'small', false);
update storage.buckets set file_size_limit = 100, allowed_mime_types = '{image/*,text/plain}' where id = 'small';
create policy open_all on storage.objects for all to anon, authenticated using (bucket_id in ('open', 'small')) with check (bucket_id in ('open', 'small'));

-- Last: when this one is known, so is the rest.
create table public.known (id int primary key);
