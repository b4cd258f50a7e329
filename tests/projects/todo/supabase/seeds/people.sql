insert into auth.users (id, instance_id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
values
  ('60000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000000', 'authenticated', 'authenticated', 'first@todo.example', crypt('secret', gen_salt('bf', 4)), current_timestamp, '{"provider":"email","providers":["email"]}', '{"user_name": "first"}', now(), now()),
  ('60000000-0000-0000-0000-000000000002', '00000000-0000-0000-0000-000000000000', 'authenticated', 'authenticated', 'second@todo.example', crypt('secret', gen_salt('bf', 4)), current_timestamp, '{"provider":"email","providers":["email"]}', '{}', now(), now());
insert into auth.identities (id, user_id, provider_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
select uuid_generate_v4(), id, id, jsonb_build_object('sub', id, 'email', email), 'email', now(), now(), now() from auth.users;
