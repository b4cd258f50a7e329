select set_config('request.jwt.claims', '{"sub": "60000000-0000-0000-0000-000000000002", "role": "authenticated"}', true);
set local role authenticated;
insert into todos (task, is_complete) values ('Through the policies', true);
