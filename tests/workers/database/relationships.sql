-- One of each kind of relationship, for test_introspect_relationships.py.
create schema api; create schema hidden; create schema extra; create schema second;

-- rule 1: plain, composite, two to the same table, one to one
create table api.clients (id int primary key);
create table api.projects (
  id int primary key,
  client_id int constraint client references api.clients,
  payer_id int constraint payer references api.clients
);
create table api.places (country text, city text, primary key (country, city));
create table api.visits (
  id int primary key, town text, land text,
  constraint place foreign key (land, town) references api.places (country, city)
);
create table api.capitals (
  country text primary key, city text unique,
  constraint of_place foreign key (city, country) references api.places (city, country)
    deferrable initially deferred
);
alter table api.places add unique (city, country);
create table api.passports (client_id int primary key constraint holder references api.clients);
create table api.badges (client_id int unique constraint wearer references api.clients, text text);
create table api.lockers (a int, b int, unique (b, a));
create table api.keys (x int, y int, unique (y, x), constraint opens foreign key (x, y) references api.lockers (a, b));
create table api.almost_unique (client_id int constraint owner references api.clients, n int, unique (client_id, n));
create unique index on api.projects (payer_id);

-- self references
create table api.people (id int primary key, boss int constraint chief references api.people, spouse int unique constraint partner references api.people);

-- partitions
create table api.makers (name text primary key);
create table api.models (name text, year int, maker text constraint made_by references api.makers, primary key (name, year)) partition by list (year);
create table api.models_2021 partition of api.models for values in (2021);
create table api.models_rest partition of api.models default;
create table api.sales (day date, model text, year int, constraint sold foreign key (model, year) references api.models (name, year)) partition by range (day);
create table api.sales_all partition of api.sales default;

-- inheritance: a child has no keys of its own
create table api.child_projects () inherits (api.projects);

-- dropped columns shift numbers
create table api.shifted (gone1 int, id int primary key, gone2 int, client_id int constraint shifted_client references api.clients, gone3 int);
alter table api.shifted drop column gone1, drop column gone2, drop column gone3;
create view api.shifted_view as select client_id as owner, id from api.shifted;

-- rules 2 and 3: views
create view api.projects_view as select id, client_id from api.projects;
create view api.clients_view as select id as number from api.clients;
create materialized view api.clients_stored as select id from api.clients;
create view api.second_level as select id as project, client_id as customer from api.projects_view;
create view api.renamed (a, b) as select client_id, id from api.projects;
create view api.without_key as select id from api.projects;
create view api.computed_key as select id, client_id + 0 as client_id from api.projects;
create view api.twice as select id, client_id as one, client_id as two from api.projects;
create view api.visits_twice as select id, town, land, town as town2, land as land2 from api.visits;
create view api.half_visits as select id, town from api.visits;
create view api.joined as select p.id, p.client_id, c.id as own_client from api.projects p join api.clients c on c.id = p.client_id;
create view api.with_subquery as select s.id, s.client_id, (select count(*) from api.visits) as n from (select id, client_id from api.projects where id > 0) s;
create view api.with_cte as with chosen as (select id, client_id from api.projects) select * from chosen;
create view api.lateral_view as select c.id, l.client_id from api.clients c cross join lateral (select p.client_id from api.projects p where p.client_id = c.id limit 1) l;
create view api.united as select id, client_id from api.projects union all select id, client_id from api.projects;
create view api.people_view as select id, boss from api.people;
create view api.looped as select id, client_id from api.projects;
create or replace view api.looped as select id, client_id from api.looped;
create view api.grouped as select client_id, count(*) as n from api.projects group by client_id having count(*) > (select min(id) from api.clients);
create view api.distinct_view as select distinct on (client_id) id, client_id from api.projects order by client_id, id;

-- tables out of sight, seen through views
create table hidden.authors (id int primary key);
create table hidden.books (id int primary key, author_id int constraint author references hidden.authors);
create view api.authors as select id from hidden.authors;
create view api.books as select id, author_id from hidden.books;
create view extra.books_between as select id, author_id from hidden.books;
create view api.books_through_extra as select * from extra.books_between;
create view hidden.books_between as select id, author_id from hidden.books;
create view api.books_through_hidden as select * from hidden.books_between;

-- rule 4: junctions
create table api.users (id int primary key);
create table api.tasks (id int primary key);
create table api.users_tasks (user_id int constraint ut_user references api.users, task_id int constraint ut_task references api.tasks, primary key (user_id, task_id));
create table api.shifts (id int, user_id int constraint sh_user references api.users, task_id int constraint sh_task references api.tasks, primary key (id, user_id, task_id));
create table api.no_junction (id int primary key, user_id int constraint nj_user references api.users, task_id int constraint nj_task references api.tasks);
create table api.half_junction (user_id int constraint hj_user references api.users, task_id int constraint hj_task references api.tasks, primary key (user_id));
create table hidden.secret_junction (user_id int references api.users, task_id int references api.tasks, primary key (user_id, task_id));
create table hidden.seen_junction (user_id int constraint sj_user references api.users, task_id int constraint sj_task references api.tasks, primary key (user_id, task_id));
create view api.junction_view as select user_id as u, task_id as t from hidden.seen_junction;
create table api.follows (follower int constraint f_follower references api.users, followed int constraint f_followed references api.users, primary key (follower, followed));

-- rule 6: computed
create table api.movies (id int primary key, maker_id int, next_id int);
create table api.studios (id int primary key);
alter table api.movies add constraint made foreign key (maker_id) references api.studios;
create function api.best_studio(api.movies) returns setof api.studios rows 1 language sql as 'select * from api.studios';
create function api.one_studio(api.movies) returns api.studios language sql as 'select * from api.studios';
create function api.all_movies(api.studios) returns setof api.movies language sql as 'select * from api.movies';
create function api.next_movie(m api.movies) returns setof api.movies rows 1 language sql as 'select * from api.movies';
create function api.studios(api.movies) returns setof api.studios rows 1 language sql as 'select * from api.studios';
create function api.hidden_authors(api.movies) returns setof hidden.authors language sql as 'select * from hidden.authors';
create function extra.far_studio(api.movies) returns setof api.studios rows 1 language sql as 'select * from api.studios';
create function api.two_arguments(api.movies, n int) returns setof api.studios language sql as 'select * from api.studios';

-- rule 7: schemas
create table second.notes (id int primary key, client_id int constraint noted references api.clients);

-- names
create table api."Odd ""Name""" ("Id;" int primary key, "größe {x}" int);
create table api."таблица" ("ключ" int primary key, "odd\ref" int constraint "Odd FK" references api."Odd ""Name""");
create view api."odd view" as select "ключ" as "k {}", "odd\ref" as "\{TARGETENTRY :resno" from api."таблица";
