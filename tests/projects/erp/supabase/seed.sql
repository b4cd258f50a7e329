SET session_replication_role = replica;

--
-- PostgreSQL database dump
--

INSERT INTO "auth"."users" ("instance_id", "id", "aud", "role", "email", "encrypted_password", "email_confirmed_at", "invited_at", "confirmation_token", "confirmation_sent_at", "recovery_token", "recovery_sent_at", "email_change_token_new", "email_change", "email_change_sent_at", "last_sign_in_at", "raw_app_meta_data", "raw_user_meta_data", "is_super_admin", "created_at", "updated_at", "phone", "phone_confirmed_at", "phone_change", "phone_change_token", "phone_change_sent_at", "email_change_token_current", "email_change_confirm_status", "banned_until", "reauthentication_token", "reauthentication_sent_at", "is_sso_user", "deleted_at", "is_anonymous") VALUES
	('00000000-0000-0000-0000-000000000000', '40000000-0000-0000-0000-000000000001', 'authenticated', 'authenticated', 'owner@erp.example', '$2a$10$nNAVCUOfe1tHRQTwYnT9wuZXQr8L9Yc1o7Ai4/jHtXQ1vxkEw2y6S', '2024-09-09 14:00:00+00', NULL, '', NULL, '', NULL, '', '', NULL, '2024-09-09 14:00:00+00', '{"provider": "email", "providers": ["email"]}', '{}', NULL, '2024-09-09 14:00:00+00', '2024-09-09 14:00:00+00', NULL, NULL, '', '', NULL, '', 0, NULL, '', NULL, false, NULL, false);

INSERT INTO "public"."tenants" ("id", "name") VALUES
	('50000000-0000-0000-0000-000000000001', 'First'),
	('50000000-0000-0000-0000-000000000002', 'Second');

INSERT INTO "public"."memberships" ("tenant_id", "user_id", "name") OVERRIDING SYSTEM VALUE VALUES
	('50000000-0000-0000-0000-000000000001', '40000000-0000-0000-0000-000000000001', 'owner@erp.example');

COPY "public"."crm_accounts" ("tenant_id", "name", "created_at") FROM stdin;
50000000-0000-0000-0000-000000000001	Müller & Söhne	2024-09-09 14:00:00+00
50000000-0000-0000-0000-000000000001	O'Neill; Ltd.	2024-09-09 14:00:01+00
50000000-0000-0000-0000-000000000002	Three\nlines\there	2024-09-09 14:00:02+00
\.

RESET ALL;

refresh materialized view public.tenant_sizes;
