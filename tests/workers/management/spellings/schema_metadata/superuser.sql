-- What only a superuser may create, after the other objects.
create publication every_table for all tables;
create publication of_schema for tables in schema shop;
alter foreign table shop.remote owner to postgres;
