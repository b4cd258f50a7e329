create table public.profiles (
  id uuid primary key references auth.users (id) on delete cascade,
  updated_at timestamptz,
  username text unique check (char_length(username) >= 3),
  avatar_url text,
  website text
);
alter table public.profiles enable row level security;
create policy "Profiles are for everyone to see" on public.profiles for select using (true);
create policy "Own profiles are added" on public.profiles for insert with check (auth.uid() = id);
create policy "Own profiles are changed" on public.profiles for update using (auth.uid() = id);
grant select on public.profiles to anon;
grant select, insert, update on public.profiles to authenticated;
insert into storage.buckets (id, name) values ('avatars', 'avatars');
create policy "Pictures are for everyone to see" on storage.objects for select using (bucket_id = 'avatars');
create policy "Users add pictures" on storage.objects for insert to authenticated with check (bucket_id = 'avatars');
