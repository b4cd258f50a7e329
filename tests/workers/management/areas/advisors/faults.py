"""SQL that makes one object with each fault that the rules look for; role `postgres` runs it."""

from collections.abc import Mapping

FAULTS: Mapping[str, str] = {
    "auth_users_exposed": 'create view public."Users shown" with (security_invoker = off) as select id, email from auth.users',
    "policy_exists_rls_disabled": """create table public.idle_policy (id int primary key);
        alter table public.idle_policy enable row level security;
        create policy "idle ""one"" p" on public.idle_policy for select using (id > 1);
        alter table public.idle_policy disable row level security""",
    "rls_enabled_no_policy": """create table public.silent (id int primary key);
        alter table public.silent enable row level security""",
    "security_definer_view": """create table public.beneath (id int primary key);
        alter table public.beneath enable row level security;
        create policy p on public.beneath for select using (id > 1);
        create view public."Definer view" as select id from public.beneath""",
    "function_search_path_mutable": """create function public."Mutable f"("Arg" int, b text default 'x') returns int
        language sql as 'select 1'""",
    "rls_disabled_in_public": 'create table public."Open table" (id int primary key)',
    "extension_in_public": "create extension isn schema public",
    "rls_references_user_metadata": """create table public.trusting (id int primary key);
        alter table public.trusting enable row level security;
        create policy "trusts" on public.trusting for select to authenticated
        using ((((select auth.jwt()) -> 'user_metadata') ->> 'is_admin') = 'true')""",
    "materialized_view_in_api": "create materialized view public.stored_view as select 1 as id",
    "foreign_table_in_api": """create server elsewhere foreign data wrapper postgres_fdw options (host 'server.invalid');
        create foreign table public.foreign_rows (id int) server elsewhere""",
    "unsupported_reg_types": """create table public.reg_types (id int primary key, "Called" regproc);
        alter table public.reg_types enable row level security;
        create policy p on public.reg_types for select using (id > 1)""",
    "fkey_to_auth_unique": """create table public.by_phone (id int primary key, phone text references auth.users (phone));
        create index on public.by_phone (phone);
        alter table public.by_phone enable row level security;
        create policy p on public.by_phone for select using (id > 1)""",
    "extension_versions_outdated": "create extension seg version '1.1' schema public",
    "sensitive_columns_exposed": 'create table public.secrets_open (id int primary key, "password" text, ssn text)',
    "rls_policy_always_true": """create table public.always (id int primary key);
        alter table public.always enable row level security;
        create policy anything on public.always for update to authenticated using (true) with check (true)""",
    "pg_graphql_anon_table_exposed": "create extension if not exists pg_graphql; create table public.introspected (id int primary key)",
    "pg_graphql_authenticated_table_exposed": """create extension if not exists pg_graphql;
        create table public.introspected_by_users (id int primary key); revoke select on public.introspected_by_users from anon""",
    "anon_security_definer_function_executable": """create function public."Whose rights"(a int) returns int
        language sql security definer set search_path = '' as 'select a'""",
    "authenticated_security_definer_function_executable": """create function public.for_users(a int) returns int
        language sql security definer set search_path = '' as 'select a'""",
    "unindexed_foreign_keys": """create table public.target (id int, "Sub" int, primary key (id, "Sub"));
        create table public.referring (id int primary key, target int, "Sub" int,
          constraint "to target" foreign key (target, "Sub") references public.target)""",
    "auth_rls_initplan": """create table public.per_row (id int primary key, owner uuid);
        alter table public.per_row enable row level security;
        create policy "per row" on public.per_row for all to authenticated using (owner = auth.uid())
          with check (owner = auth.uid() and current_setting('app.tenant', true) = 'a')""",
    "no_primary_key": "create table public.without_key (body text)",
    "unused_index": """create table public.indexed (id int primary key, a int);
        create index "Unused index" on public.indexed (a)""",
    "multiple_permissive_policies": """create table public.several (id int primary key);
        alter table public.several enable row level security;
        create policy "one" on public.several for update to authenticated using (id > 1) with check (id > 2);
        create policy "two" on public.several for update to authenticated using (id < 1)""",
    "duplicate_index": """create table public.twice (id int primary key, a int);
        create index twice_a on public.twice (a); create index twice_b on public.twice (a)""",
    "table_bloat": """create table public.bloated (id int primary key, body text) with (autovacuum_enabled = off);
        alter table public.bloated alter body set storage plain;
        insert into public.bloated select n, repeat('x', 1500) from generate_series(1, 25000) as n;
        delete from public.bloated where id % 200 > 0""",
}
"""Rule -> statements. Other rules find some of these objects too."""

PREPARATION = """create extension if not exists postgres_fdw schema extensions;
    grant usage on foreign data wrapper postgres_fdw to postgres"""
"""What a superuser runs before."""

AFTERWARDS = "vacuum analyze public.bloated"
"""Runs outside of a transaction: the planner's statistics are what table_bloat reads."""

WITHOUT_FIX = frozenset({"rls_enabled_no_policy", "fkey_to_auth_unique", "rls_policy_always_true"})
"""Rules whose faults only a decision mends."""
