-- Roles of this project; passwords are set elsewhere.
create role auditor nologin noinherit;
create role "report-writer" with login connection limit 5;
grant auditor to authenticator;
alter role auditor set statement_timeout = '30s';
