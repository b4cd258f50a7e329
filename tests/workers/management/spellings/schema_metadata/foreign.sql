create server elsewhere foreign data wrapper file_fdw;
create foreign table shop.remote (id integer not null, name text, primary_color shop.color) server elsewhere
  options (filename '/nowhere', format 'csv');
comment on foreign table shop.remote is 'far "away"';
