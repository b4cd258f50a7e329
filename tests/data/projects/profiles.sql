-- Accounts and their profiles: a trigger makes the profile, policies let everybody read and the owner write.
create table public.accounts (
  id uuid primary key default gen_random_uuid(),
  email text unique,
  raw_user_meta_data jsonb not null default '{}',
  created_at timestamptz not null default now()
);
alter table public.accounts enable row level security;

create table public.profiles (
  id uuid not null references public.accounts on delete cascade primary key,
  updated_at timestamp with time zone,
  username text unique,
  full_name text,
  avatar_url text,
  website text,
  constraint username_length check (char_length(username) >= 3)
);
alter table public.profiles enable row level security;

create policy "Public profiles are viewable by everyone." on public.profiles
  for select using (true);
create policy "Users can insert their own profile." on public.profiles
  for insert with check ((select auth.uid()) = id);
create policy "Users can update own profile." on public.profiles
  for update to authenticated using ((select auth.uid()) = id);
create policy "Service role manages accounts" on public.accounts
  as permissive for all to service_role using (auth.role() = 'service_role');

create function public.handle_new_user() returns trigger
set search_path = ''
as $$
begin
  insert into public.profiles (id, full_name, avatar_url)
  values (new.id, new.raw_user_meta_data ->> 'full_name', new.raw_user_meta_data ->> 'avatar_url');
  return new;
end;
$$ language plpgsql security definer;

create trigger on_account_created after insert on public.accounts
  for each row execute procedure public.handle_new_user();

create or replace function public.delete_avatar(url text, out folder text) as $$
begin
  folder := (storage.foldername(url))[1];
end $$ language plpgsql security definer;

create or replace function public.set_updated_at() returns trigger language plpgsql as $$
begin
  new.updated_at = now();
  return new;
end $$;
create trigger handle_updated_at before update on public.profiles
  for each row execute procedure public.set_updated_at();

begin;
  drop publication if exists supabase_realtime;
  create publication supabase_realtime;
commit;
alter publication supabase_realtime add table public.profiles;
