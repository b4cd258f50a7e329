-- Codes and links that were sent and not used yet: one of each kind for an account.
-- as: supabase_auth_admin

create table if not exists auth.one_time_tokens (
  id uuid primary key,
  user_id uuid not null references auth.users on delete cascade,
  token_type auth.one_time_token_type not null,
  token_hash text not null
    constraint one_time_tokens_token_hash_check check (pg_catalog.char_length(token_hash) > 0),
  relates_to text not null,
  created_at timestamp without time zone not null default pg_catalog.now(),
  updated_at timestamp without time zone not null default pg_catalog.now()
);

create index if not exists one_time_tokens_token_hash_hash_idx on auth.one_time_tokens using hash (token_hash);
create index if not exists one_time_tokens_relates_to_hash_idx on auth.one_time_tokens using hash (relates_to);
create unique index if not exists one_time_tokens_user_id_token_type_key
  on auth.one_time_tokens (user_id, token_type);

alter table auth.one_time_tokens enable row level security;
