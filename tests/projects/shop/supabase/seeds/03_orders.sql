with person as (
  insert into auth.users (id, email, raw_user_meta_data, raw_app_meta_data, aud, role, instance_id)
  values (gen_random_uuid(), 'ada@shop.example', '{"full_name": "Ada"}', '{"staff": true}', 'authenticated', 'authenticated', '00000000-0000-0000-0000-000000000000')
  returning id
), placed as (
  insert into orders (user_id, status, placed_at) select id, 'placed', now() from person returning id
)
insert into order_items (order_id, line, product_id, quantity, unit_amount)
select placed.id, row_number() over (), p.product_id, 2, p.unit_amount from placed, prices p where p.active;
