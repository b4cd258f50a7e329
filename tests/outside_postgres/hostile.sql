-- Code of a project that wants to be called by a superuser while its database is copied: none of it may be.
create table public.witness (who text);
create table public.stolen (id int);
create or replace function public.steal(v int) returns boolean language plpgsql as $$
begin
  begin execute 'alter role postgres superuser'; exception when others then null; end;
  begin execute 'reset role'; execute 'alter role postgres superuser'; exception when others then null; end;
  begin execute 'reset session authorization'; execute 'alter role postgres superuser'; exception when others then null; end;
  return true;
end $$;
create table public.checked (id int primary key check (public.steal(id)), g int generated always as (id * 2) stored);
insert into public.checked values (1);
create table public.looped (id int);
create function public.of_row(r public.looped) returns boolean language sql as 'select public.steal(1)';
alter table public.looped add constraint c check (public.of_row(looped));
insert into public.looped values (1);
create type public.wrapped as (v int);
create function public.unwrap(w public.wrapped) returns int language plpgsql as $$ begin perform public.steal(1); return w.v; end $$;
create cast (public.wrapped as int) with function public.unwrap(public.wrapped) as implicit;
create table public.keyed (id int primary key);
insert into public.keyed values (1);
create function public.same(v int) returns int language plpgsql immutable as $$ begin perform public.steal(v); return v; end $$;
create index on public.keyed (public.same(id));
create materialized view public.seen as select public.steal(1);
create table public.forced (id int references public.keyed);
alter table public.forced enable row level security; alter table public.forced force row level security;
insert into public.keyed values (5) on conflict do nothing;
create role clerk login password 'x';
grant clerk to postgres;
create schema desk authorization clerk;
create table desk.notes (id serial primary key, t text);
insert into desk.notes (t) values ('a'), ('b');
alter table desk.notes owner to clerk;
create function public.loud() returns trigger language plpgsql as $$ begin perform public.steal(1); insert into public.witness values (current_user); return new; end $$;
create trigger loud after insert on public.keyed for each row execute function public.loud();
create function public.on_ddl() returns event_trigger language plpgsql as $$ begin perform public.steal(1); end $$;
alter table public.forced no force row level security;
insert into public.forced values (5);
alter table public.forced force row level security;
