-- What a project builds on its storage: buckets, and policies on storage.objects as the client's manuals write them.

insert into storage.buckets (id, name, public) values ('avatars', 'avatars', true), ('papers', 'papers', false), ('shared', 'shared', false);

-- 1. Everybody has a folder of his own, named by his id, in `avatars` and `papers`.
create policy "own folder: read" on storage.objects for select to authenticated
  using (bucket_id in ('avatars', 'papers') and (storage.foldername(name))[1] = (select auth.uid()::text));
create policy "own folder: write" on storage.objects for insert to authenticated
  with check (bucket_id in ('avatars', 'papers') and (storage.foldername(name))[1] = (select auth.uid()::text));
create policy "own folder: change" on storage.objects for update to authenticated
  using (bucket_id in ('avatars', 'papers') and (storage.foldername(name))[1] = (select auth.uid()::text));
create policy "own folder: delete" on storage.objects for delete to authenticated
  using (bucket_id in ('avatars', 'papers') and (storage.foldername(name))[1] = (select auth.uid()::text));

-- 2. What is read by all who are signed in, and changed by its owner; small texts alone, judged by what is declared.
create policy "shared: read" on storage.objects for select to authenticated
  using (bucket_id = 'shared');
create policy "shared: write small texts" on storage.objects for insert to authenticated
  with check (bucket_id = 'shared' and storage.extension(name) = 'txt'
    and metadata ->> 'mimetype' like 'text/%' and (metadata ->> 'contentLength')::int < 1000);
create policy "shared: owner" on storage.objects for update to authenticated
  using (bucket_id = 'shared' and owner_id = (select auth.uid()::text));
create policy "shared: owner deletes" on storage.objects for delete to authenticated
  using (bucket_id = 'shared' and owner_id = (select auth.uid()::text));

-- 3. Nobody who is not signed in sees more of buckets than that `avatars` is there.
create policy "open buckets" on storage.buckets for select to anon, authenticated using (public);
