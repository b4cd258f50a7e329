-- A shop: enums made once in DO blocks, domains, generated columns, full-text search, views and functions for the API.
do $$
begin
  if not exists (select 1 from pg_type where typname = 'product_kind') then
    create type product_kind as enum ('book', 'disc', 'ticket');
  end if;
exception
  when duplicate_object then null;
end
$$;

create domain price as numeric(10, 2) check (value >= 0);

create table if not exists products (
  id bigint generated always as identity primary key,
  sku text not null default encode(gen_random_bytes(6), 'hex') unique,
  title text not null,
  body text not null default '',
  kind product_kind not null default 'book',
  net price not null,
  vat numeric(4, 3) not null default 0.19,
  gross numeric(10, 2) generated always as (round(net * (1 + vat), 2)) stored,
  search tsvector generated always as (
    setweight(to_tsvector('english', title), 'A') || setweight(to_tsvector('english', body), 'B')
  ) stored,
  tags text[] not null default '{}',
  checksum text generated always as (md5(title || body)) stored
);
create index products_search_idx on products using gin (search);
create index products_tags_idx on products using gin (tags);
comment on column products.gross is 'Net with tax.';

create table reviews (
  id uuid primary key default uuid_generate_v4(),
  product_id bigint not null references products on delete cascade,
  author uuid not null default auth.uid(),
  stars smallint not null check (stars between 1 and 5),
  created_at timestamptz default timezone('utc'::text, now()) not null,
  unique (product_id, author)
);
alter table products enable row level security;
alter table reviews enable row level security;
alter table reviews force row level security;

create policy "anyone reads products" on products for select to anon, authenticated using (true);
create policy "anyone reads reviews" on reviews for select to anon, authenticated using (true);
create policy "members write their own" on reviews for insert to authenticated with check (author = auth.uid());
create policy "verified members change" on reviews for update to authenticated
  using (author = auth.uid() and (auth.jwt() ->> 'aal') = 'aal2');

create view product_stars with (security_invoker = true) as
  select product_id, round(avg(stars), 1) as stars, count(*) as reviews from reviews group by product_id;
create materialized view best_sellers as select id, title from products order by id limit 10;

create or replace function search_products(words text) returns setof products
language sql stable as $$
  select * from products where search @@ websearch_to_tsquery('english', words)
$$;

create or replace function average(products) returns numeric
language sql stable security invoker set search_path = public as $$
  select avg(stars) from reviews where product_id = $1.id
$$;

grant select on product_stars, best_sellers to anon, authenticated;
revoke insert, update, delete on products from anon, authenticated;
grant usage, select on all sequences in schema public to authenticated;
revoke execute on function search_products(text) from public, anon;
grant execute on function search_products(text) to authenticated, service_role;

alter table reviews replica identity full;
alter publication supabase_realtime add table reviews, products;

insert into products (title, body, net, tags) values
  ('The sea', 'Waves and boats', 10, '{blue}'),
  ('The hill', 'Paths and stones', 20, '{green}');
