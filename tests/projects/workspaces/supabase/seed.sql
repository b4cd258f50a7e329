-- People with passwords, as the sign-in wants them.
insert into auth.users (
  instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, recovery_sent_at, last_sign_in_at,
  raw_app_meta_data, raw_user_meta_data, created_at, updated_at,
  confirmation_token, email_change, email_change_token_new, recovery_token
)
select
  '00000000-0000-0000-0000-000000000000', n.id, 'authenticated', 'authenticated', n.email,
  extensions.crypt('password123', extensions.gen_salt('bf', 4)), now(), now(), now(),
  '{"provider": "email", "providers": ["email"]}', jsonb_build_object('full_name', n.name), now(), now(), '', '', '', ''
from (values
  ('6e9f0d7e-8a6b-4d51-9f22-0a4f6a1d9a01'::uuid, 'grace@workspaces.example', 'Grace'),
  ('6e9f0d7e-8a6b-4d51-9f22-0a4f6a1d9a02'::uuid, 'alan@workspaces.example', 'Alan'),
  ('6e9f0d7e-8a6b-4d51-9f22-0a4f6a1d9a03'::uuid, 'edsger@workspaces.example', 'Edsger')
) as n (id, email, name);

insert into auth.identities (id, user_id, provider_id, identity_data, provider, last_sign_in_at, created_at, updated_at)
select gen_random_uuid(), id, id::text, format('{"sub":"%s","email":"%s"}', id::text, email)::jsonb, 'email', now(), now(), now()
from auth.users;

insert into public.organizations (id, name, slug, created_by) values
  ('10000000-0000-0000-0000-000000000001', 'Compilers', 'compilers', '6e9f0d7e-8a6b-4d51-9f22-0a4f6a1d9a01'),
  ('10000000-0000-0000-0000-000000000002', 'Machines; and "more"', 'machines', '6e9f0d7e-8a6b-4d51-9f22-0a4f6a1d9a02');

insert into public.organization_members (organization_id, user_id, role)
values ('10000000-0000-0000-0000-000000000001', '6e9f0d7e-8a6b-4d51-9f22-0a4f6a1d9a03', 'admin');

insert into public.projects (organization_id, name)
select id, name || ' ' || n from public.organizations cross join generate_series(1, 3) as n;

insert into public.invitations (organization_id, email) values ('10000000-0000-0000-0000-000000000001', 'barbara@workspaces.example');
