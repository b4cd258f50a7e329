insert into storage.buckets (id, name, public) values ('invoices', 'invoices', false) on conflict (id) do nothing;

create policy "Product images are public" on storage.objects for select using (bucket_id = 'products');
create policy "Own invoices" on storage.objects for select to authenticated
  using (bucket_id = 'invoices' and (storage.foldername(name))[1] = (select auth.uid()::text));
create policy "Staff upload images" on storage.objects for insert to authenticated
  with check (bucket_id = 'products' and storage.extension(name) = any (array['png', 'jpg', 'jpeg', 'svg'])
    and (auth.jwt() -> 'app_metadata' ->> 'staff')::boolean is true);
