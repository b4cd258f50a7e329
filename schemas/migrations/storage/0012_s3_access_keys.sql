-- Key pairs of the S3 interface, each with the claims of who uses it; the secret signs, so it is sealed and not hashed.
-- as: supabase_storage_admin

create table if not exists storage.s3_access_keys (
  access_key_id text primary key
    constraint s3_access_keys_access_key_id_check check (access_key_id ~ '^[A-Za-z0-9_-]{4,128}$'),
  secret text not null,
  claims jsonb not null
    constraint s3_access_keys_claims_check
    check (coalesce(pg_catalog.jsonb_typeof(claims -> 'role') = 'string', false)),
  created_at timestamptz not null default pg_catalog.now(),
  revoked_at timestamptz
);

comment on column storage.s3_access_keys.secret is 'Encrypted';
comment on column storage.s3_access_keys.claims is 'As in a token: the role, and what policies ask for';

alter table storage.s3_access_keys enable row level security;
