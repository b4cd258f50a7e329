-- Tables that nothing here uses: dumps of projects name them.
-- as: supabase_storage_admin

create table if not exists storage.migrations (
  id int primary key,
  name varchar(100) not null unique,
  hash varchar(40) not null,
  executed_at timestamp default current_timestamp
);

create table if not exists storage.buckets_analytics (
  name text not null,
  type storage.buckettype not null default 'ANALYTICS',
  format text not null default 'ICEBERG',
  created_at timestamptz not null default pg_catalog.now(),
  updated_at timestamptz not null default pg_catalog.now(),
  id uuid primary key default pg_catalog.gen_random_uuid(),
  deleted_at timestamptz
);

create table if not exists storage.buckets_vectors (
  id text primary key,
  type storage.buckettype not null default 'VECTOR',
  created_at timestamptz not null default pg_catalog.now(),
  updated_at timestamptz not null default pg_catalog.now()
);

create table if not exists storage.vector_indexes (
  id text primary key default pg_catalog.gen_random_uuid(),
  name text not null,
  bucket_id text not null references storage.buckets_vectors,
  data_type text not null,
  dimension int not null,
  distance_metric text not null,
  metadata_configuration jsonb,
  created_at timestamptz not null default pg_catalog.now(),
  updated_at timestamptz not null default pg_catalog.now()
);

alter table storage.migrations enable row level security;
alter table storage.buckets_analytics enable row level security;
alter table storage.buckets_vectors enable row level security;
alter table storage.vector_indexes enable row level security;
