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
create table public.guarded (owner text, body text);
alter table public.guarded enable row level security;
create policy own on public.guarded using (owner = current_setting('request.jwt.claims', true)::json ->> 'sub');

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
create function public.nothing(at timestamptz default null) returns void language sql as '';

insert into public.parents (name) select 'parent ' || n from generate_series(1, 20) n;
insert into public.children (parent, place, name) select n, n, 'child ' || n from generate_series(1, 20) n;
insert into public.kinds (id, words) select n, 'words ' || n from generate_series(1, 20) n;

-- Last: when this one is known, so is the rest.
create table public.known (id int primary key);
