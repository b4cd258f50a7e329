-- Set up Storage!
insert into storage.buckets (id, name) values ('avatars', 'avatars') on conflict do nothing;
insert into storage.buckets (id, name, public, avif_autodetection, file_size_limit, allowed_mime_types)
values ('exports', 'exports', false, false, 1048576, '{text/csv,application/json}');

-- Set up access controls for storage.
create policy "Avatar images are publicly accessible." on storage.objects for select using (bucket_id = 'avatars');
create policy "Anyone can upload an avatar." on storage.objects for insert
  with check (bucket_id = 'avatars' and lower((storage.foldername(name))[1]) <> 'defaults' and storage.extension(name) in ('png', 'jpg', 'webp'));
create policy "Anyone can update their own avatar." on storage.objects for update using ((select auth.uid()) = owner) with check (bucket_id = 'avatars');
create policy "Own attachments" on storage.objects for all to authenticated
  using (bucket_id = 'attachments' and (storage.foldername(name))[1] = (select auth.jwt() ->> 'sub') and owner_id = (select auth.uid()::text))
  with check (bucket_id = 'attachments' and storage.filename(name) !~ '\.exe$');
create policy "Signed in see covers" on storage.objects for select to authenticated using (bucket_id = 'covers');

create function public.delete_avatar() returns trigger language plpgsql security definer set search_path = public, storage as $$
begin
  if old.avatar_url is distinct from new.avatar_url and old.avatar_url not like 'defaults/%' then
    update public.profiles set avatar_url = new.avatar_url where id = new.id;
  end if;
  return new;
end $$;
create trigger on_avatar_change after update of avatar_url on public.profiles for each row
  when (pg_trigger_depth() = 0) execute function public.delete_avatar();
