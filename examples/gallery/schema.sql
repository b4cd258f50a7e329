-- Everybody who is signed in has a folder in the bucket `gallery`, named by their id; nobody else sees what is in it.
drop policy if exists "gallery: own folder" on storage.objects;
create policy "gallery: own folder" on storage.objects for all to authenticated
  using (bucket_id = 'gallery' and (storage.foldername(name))[1] = (select auth.uid()::text))
  with check (bucket_id = 'gallery' and (storage.foldername(name))[1] = (select auth.uid()::text));
