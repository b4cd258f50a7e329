-- What is being done to an object, for policies that allow some operations only; and where a listing folds keys.
-- as: supabase_storage_admin

create or replace function storage.operation() returns text
language sql stable as $$
  select nullif(pg_catalog.current_setting('storage.operation', true), '')
$$;

create or replace function storage.allow_only_operation(expected_operation text) returns boolean
language sql stable as $$
  select coalesce(
    pg_catalog.regexp_replace(storage.operation(), '^storage\.', '')
      = nullif(pg_catalog.regexp_replace(expected_operation, '^storage\.', ''), ''),
    false
  )
$$;

create or replace function storage.allow_any_operation(expected_operations text[]) returns boolean
language sql stable as $$
  select exists (
    select from pg_catalog.unnest(expected_operations) as expected where storage.allow_only_operation(expected)
  )
$$;

create or replace function storage.get_common_prefix(p_key text, p_prefix text, p_delimiter text) returns text
language sql immutable as $$
  select case
    when pg_catalog.strpos(pg_catalog.substr(p_key, pg_catalog.length(p_prefix) + 1), p_delimiter) > 0
    then pg_catalog.left(
      p_key,
      pg_catalog.length(p_prefix)
        + pg_catalog.strpos(pg_catalog.substr(p_key, pg_catalog.length(p_prefix) + 1), p_delimiter)
        + pg_catalog.length(p_delimiter) - 1
    )
  end
$$;

grant execute on function storage.operation(), storage.allow_only_operation(text),
  storage.allow_any_operation(text[]), storage.get_common_prefix(text, text, text) to public;
