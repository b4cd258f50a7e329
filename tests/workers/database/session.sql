-- What the tests of sessions and pools work on. Roles belong to the whole server, so they are made once.

do $$
declare
    name text;
begin
    foreach name in array array['session_guest', 'session_member', 'session_service', 'session_login'] loop
        if not exists (select from pg_catalog.pg_roles where rolname = name) then
            execute format('create role %I', name);
        end if;
    end loop;
end $$;
alter role session_login login noinherit password 'session';
grant session_guest, session_member, session_service to session_login;
grant usage on schema public to session_guest, session_member, session_service;

create table items (id int primary key, name text not null unique);
insert into items select n, 'item ' || n from generate_series(1, 100) n;

create table notes (id int primary key, owner int not null, body text not null);
insert into notes select n, n % 9, 'note ' || n from generate_series(1, 90) n;
alter table notes enable row level security;
create policy own on notes using (owner = (current_setting('request.jwt.claims')::json ->> 'sub')::int);

create table parents (id int primary key);
create table children (
    id int primary key,
    parent int not null references parents deferrable initially deferred
);
grant select, insert, update, delete on all tables in schema public to session_guest, session_member, session_service;

create function pin_role() returns text language sql as
$$ select set_config('role', 'session_service', false) $$;

create function leave_settings() returns void language plpgsql as $$
begin
    perform set_config('app.tenant', 'secret', false);
    perform set_config('request.jwt.claims', '{"sub":"1"}', false);
    perform set_config('statement_timeout', '1s', false);
    perform set_config('client_encoding', 'LATIN1', false);
    perform set_config('search_path', 'nowhere', false);
    perform pg_advisory_lock(4711);
end $$;

create function leave_defaults(isolation text, read_only text) returns void language plpgsql as $$
begin
    perform set_config('default_transaction_isolation', isolation, false);
    perform set_config('default_transaction_read_only', read_only, false);
end $$;

create function leave_temporary(secret text) returns void language plpgsql as $$
begin
    execute format('create temporary table scratch as select %L as secret', secret);
    grant select on scratch to public;
end $$;

create function leave_listening() returns void language plpgsql as $$ begin execute 'listen session_news'; end $$;
create function forget_statements() returns void language plpgsql as $$ begin execute 'deallocate all'; end $$;
