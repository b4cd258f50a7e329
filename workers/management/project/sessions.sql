-- Statements of sessions of role postgres (sessions.py).

-- name: record_migration
-- A migration that is there already gets the new text: it was run again.
insert into supabase_migrations.schema_migrations (version, name, statements) values ($1, $2, $3)
on conflict (version) do update set name = excluded.name, statements = excluded.statements
