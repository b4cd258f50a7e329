create type public.job_state as enum ('waiting', 'running', 'done', 'failed');

create table public.orders (
  id bigint generated always as identity primary key,
  customer_email text not null,
  total numeric(10, 2) not null default 0 check (total >= 0),
  created_at timestamptz not null default now()
);
alter table public.orders enable row level security;

create table public.jobs (
  id uuid primary key default gen_random_uuid(),
  kind text not null,
  payload jsonb not null default '{}',
  state public.job_state not null default 'waiting',
  attempts smallint not null default 0,
  max_attempts smallint not null default 5,
  run_at timestamptz not null default now(),
  locked_by text,
  last_error text,
  constraint attempts_in_range check (attempts between 0 and max_attempts)
);
alter table public.jobs enable row level security;
create index jobs_waiting on public.jobs (run_at) where state = 'waiting';

create or replace function public.take_jobs(worker text, most int default 1)
returns setof public.jobs language sql security definer set search_path = '' as $$
  update public.jobs j set state = 'running', attempts = attempts + 1, locked_by = worker
  where j.id in (
    select id from public.jobs where state = 'waiting' and run_at <= now()
    order by run_at for update skip locked limit most
  )
  returning j.*
$$;
revoke all on function public.take_jobs from public, anon, authenticated;

create or replace function public.enqueue_mail() returns trigger language plpgsql security definer set search_path = '' as $$
begin
  perform pgmq.send('mail', jsonb_build_object('to', new.customer_email, 'order', new.id), 5);
  insert into public.jobs (kind, payload) values ('invoice', to_jsonb(new));
  return new;
end $$;
create trigger enqueue_mail after insert on public.orders for each row execute function public.enqueue_mail();

-- A database webhook, as the dashboard writes it.
create trigger "order-webhook" after insert or update or delete on "public"."orders" for each row
execute function "supabase_functions"."http_request"(
  'http://host.docker.internal:54321/functions/v1/on-order',
  'POST',
  '{"Content-type":"application/json","Authorization":"Bearer eyJ..."}',
  '{}',
  '1000'
);
