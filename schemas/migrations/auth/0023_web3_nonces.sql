-- Signed messages of wallets that were used already, until they would expire: nobody uses one twice.
-- as: supabase_auth_admin

create table if not exists auth.web3_nonces (
  nonce_hash bytea primary key
    constraint web3_nonces_nonce_hash_length check (pg_catalog.octet_length(nonce_hash) = 32),
  expires_at timestamptz not null
);

comment on column auth.web3_nonces.nonce_hash is 'SHA-256 of chain, address and nonce';
create index if not exists web3_nonces_expires_at_idx on auth.web3_nonces (expires_at);

alter table auth.web3_nonces enable row level security;
