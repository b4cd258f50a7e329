-- What only a superuser may create, before the other objects.
create extension file_fdw schema extensions;
grant usage on foreign data wrapper file_fdw to postgres;
