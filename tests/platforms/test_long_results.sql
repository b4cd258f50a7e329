create table public.large (id int primary key, note text not null, extra text);
insert into public.large values (1, repeat('0123456789', 300000)), (2, repeat('9876543210', 300000));

create domain public."text/plain" as text;
create domain public."application/octet-stream" as bytea;

create function public.long_text() returns public."text/plain" language sql stable as
$$ select repeat('0123456789', 300000) $$;
create function public.long_bytes() returns public."application/octet-stream" language sql stable as
$$ select decode(repeat('00ff7f', 1000000), 'hex') $$;
create function public.long_number() returns json language sql stable as $$ select repeat('1', 600000)::json $$;
create function public.long_with_status(word text) returns public."text/plain" language plpgsql stable as $$
begin
  perform set_config('response.status', word, true);
  return repeat('0123456789', 3000000);
end $$;

create function public.longest_text() returns public."text/plain" language sql stable as
$$ select repeat('0123456789', 6400000) $$;

create table public.wide (id int primary key, name text not null, note text not null, nothing text);
insert into public.wide select n, 'item-' || n, repeat(lpad(n::text, 8, '0'), 120) from generate_series(1, 65000) n;
create function public.wide_until(last int) returns setof public.wide language sql stable as
$$ select id, name, note, (1 / (last - id))::text from public.wide order by id $$;
analyze public.wide;
grant select on public.wide, public.large to anon, service_role;
grant update on public.large, public.wide to service_role;
