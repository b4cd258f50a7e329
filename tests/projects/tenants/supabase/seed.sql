begin;
insert into core.tenants (id, name, plan) values ('20000000-0000-0000-0000-000000000001', 'Acme', 'pro');
insert into core.tenants (id, name, parent_id) values ('20000000-0000-0000-0000-000000000002', 'Acme Labs', '20000000-0000-0000-0000-000000000001');
insert into auth.users (id, email, aud, role, raw_app_meta_data) values ('30000000-0000-0000-0000-000000000001', 'root@acme.example', 'authenticated', 'authenticated', '{}');
select set_claim('30000000-0000-0000-0000-000000000001', 'claims_admin', 'true');
insert into core.user_roles values ('30000000-0000-0000-0000-000000000001', '20000000-0000-0000-0000-000000000001', 'tenant_admin');
commit;

-- As this person, through the policies.
set session role authenticated;
set request.jwt.claims to '{"sub": "30000000-0000-0000-0000-000000000001", "aal": "aal1", "role": "authenticated", "app_metadata": {"role": "tenant_admin", "tenant_id": "20000000-0000-0000-0000-000000000001"}}';
insert into core.documents (title) values ('Plan'), ('Budget');
update core.documents set content = '{"pages": 2}' where title = 'Plan';
reset role;
