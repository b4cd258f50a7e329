-- The vault of a project's database (vault_secrets.py).

-- name: exists
-- Whether there is a vault to fill.
select pg_catalog.to_regprocedure('vault.create_secret(text, text, text, uuid)') is not null
  and pg_catalog.to_regclass('vault.decrypted_secrets') is not null

-- name: put
-- Creates a secret, or changes it if it differs. $1: its name, $2: its text. Returns what was done; null if nothing.
with there as (
  select id, decrypted_secret from vault.decrypted_secrets where name = $1
)
select case
  when not exists (select from there) then 'made' || pg_catalog.left(vault.create_secret($2, $1)::text, 0)
  else (
    select pg_catalog.max('changed' || pg_catalog.left(vault.update_secret(id, $2)::text, 0))
    from there where decrypted_secret is distinct from $2)
end
