"""Five schemas with rows and users, changes of their access, and rewrites that change nothing."""

USERS = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(1, 7)]
"""Of the tenants `red` (the first three) and `blue`."""

PEOPLE = "".join(
    f"insert into auth.users (id, email, aud, role, raw_app_meta_data) values ('{user}', 'u{place}@example.com', 'authenticated', "
    f"""'authenticated', '{{"tenant_id": "{"red" if place < 3 else "blue"}"}}');"""
    for place, user in enumerate(USERS)
)

OWNERS = """
create table public.notes (id int primary key, owner uuid not null, is_public boolean not null default false, body text, editor uuid);
alter table public.notes enable row level security;
create policy reads on public.notes for select to authenticated using (owner = (select auth.uid()));
create policy shown on public.notes for select to anon using (is_public);
create policy writes on public.notes for insert to authenticated with check (owner = (select auth.uid()));
create policy edits on public.notes for update to authenticated using (owner = (select auth.uid())) with check (owner = (select auth.uid()) and not is_public);
create policy removes on public.notes for delete to authenticated using (owner = (select auth.uid()));
insert into public.notes select n, ('00000000-0000-4000-8000-00000000000' || 1 + n % 6)::uuid, n % 5 = 0, 'note ' || n, ('00000000-0000-4000-8000-00000000000' || 1 + n % 5)::uuid
from generate_series(1, 60) as n;
"""

TENANTS = """
create table public.docs (id int primary key, tenant_id text not null, folder_tenant text not null, status text not null, title text);
alter table public.docs enable row level security;
create policy of_tenant on public.docs to authenticated using (tenant_id = (auth.jwt() -> 'app_metadata' ->> 'tenant_id'))
  with check (tenant_id = (auth.jwt() -> 'app_metadata' ->> 'tenant_id') and status = 'draft');
create policy not_secret on public.docs as restrictive to authenticated using (status <> 'secret');
insert into public.docs select n, case when n % 2 = 0 then 'red' else 'blue' end, case when n % 3 = 0 then 'red' else 'blue' end,
  (array['draft', 'done', 'secret'])[1 + n % 3], 'doc ' || n from generate_series(1, 60) as n;
"""

MEMBERS = """
create table public.members (team int, person uuid, is_admin boolean not null default false, primary key (team, person));
create table public.tasks (id int primary key, team int not null, person uuid, title text);
alter table public.members enable row level security;
alter table public.tasks enable row level security;
create schema private;
revoke usage on schema private from public;
create function private.is_member(which int) returns boolean language sql stable security definer set search_path = ''
  as 'select exists (select from public.members as member where member.team = which and member.person = auth.uid())';
create policy own on public.members for select to authenticated using (person = (select auth.uid()));
create policy of_team on public.tasks for select to authenticated using (private.is_member(team));
create policy edits on public.tasks for update to authenticated using (private.is_member(team));
create policy removes on public.tasks for delete to authenticated
  using (exists (select from public.members as member where member.team = tasks.team and member.is_admin and member.person = (select auth.uid())));
insert into public.members select 1 + n % 3, ('00000000-0000-4000-8000-00000000000' || 1 + n)::uuid, n < 2 from generate_series(0, 4) as n;
insert into public.tasks select n, 1 + n % 3, ('00000000-0000-4000-8000-00000000000' || 1 + n % 6)::uuid, 'task ' || n from generate_series(1, 30) as n;
"""

FILES = """
insert into storage.buckets (id, name, public) values ('avatars', 'avatars', false), ('papers', 'papers', false);
create policy own_read on storage.objects for select to authenticated using (bucket_id = 'avatars' and owner_id = (select auth.uid()::text));
create policy own_write on storage.objects for insert to authenticated
  with check (bucket_id = 'avatars' and (storage.foldername(name))[1] = (select auth.uid()::text));
create policy buckets_read on storage.buckets for select to authenticated using (id = 'avatars');
create policy channel_read on realtime.messages for select to authenticated using (realtime.topic() = 'team:' || (auth.jwt() -> 'app_metadata' ->> 'tenant_id'));
create policy channel_send on realtime.messages for insert to authenticated
  with check (extension = 'broadcast' and realtime.topic() = 'team:red' and (auth.jwt() -> 'app_metadata' ->> 'tenant_id') = 'red');
insert into storage.objects (bucket_id, name, owner_id) select bucket, owner || '/' || n || '.png', owner
from unnest('{avatars,papers}'::text[]) as bucket, generate_series(1, 12) as n, lateral (select '00000000-0000-4000-8000-00000000000' || 1 + n % 6) as o (owner);
"""

VIEWS = """
create table public.profiles (id uuid primary key, tenant_id text not null, nickname text, phone text);
alter table public.profiles enable row level security;
create policy own on public.profiles for select to authenticated using (id = (select auth.uid()));
revoke all on public.profiles from anon, authenticated;
grant select (id, tenant_id, nickname) on public.profiles to authenticated;
create view public.nicknames with (security_invoker = on) as select id, tenant_id, nickname from public.profiles;
create function public.whoami() returns setof public.nicknames language sql stable as 'select * from public.nicknames';
create function public.admin_report(day date) returns int language sql stable security definer set search_path = '' as 'select 1';
revoke execute on function public.admin_report(date) from public, anon, authenticated;
revoke all on public.nicknames from anon;
create table public.places (id int primary key, owner uuid not null, point int);
alter table public.places enable row level security;
create policy reads on public.places for select to authenticated using (owner = auth.uid());
insert into public.profiles select ('00000000-0000-4000-8000-00000000000' || n)::uuid, case when n <= 3 then 'red' else 'blue' end, 'nick ' || n, 'phone ' || n
from generate_series(1, 6) as n;
"""

SCHEMAS = {"owners": OWNERS, "tenants": TENANTS, "members": MEMBERS, "files": FILES, "views": VIEWS}

MUTATIONS = [
    ("owners", "alter policy reads on public.notes using (true)", "notes select authenticated gain"),
    (
        "owners",
        "alter policy reads on public.notes using (owner = (select auth.uid()) or true)",
        "notes select authenticated gain",
    ),
    (
        "owners",
        "alter policy reads on public.notes using (editor = (select auth.uid()))",
        "notes select authenticated gain",
    ),
    (
        "owners",
        "alter policy reads on public.notes using (owner <> (select auth.uid()))",
        "notes select authenticated gain",
    ),
    ("owners", "alter policy shown on public.notes using (true)", "notes select anon gain"),
    (
        "owners",
        "alter policy reads on public.notes to public using (owner is not null)",
        "notes select anon gain",
    ),
    ("owners", "alter policy shown on public.notes to public", "notes select authenticated gain"),
    ("owners", "alter policy writes on public.notes with check (true)", "notes insert authenticated gain"),
    (
        "owners",
        "alter policy edits on public.notes with check (owner = (select auth.uid()))",
        "notes update to authenticated gain",
    ),
    (
        "owners",
        "drop policy edits on public.notes; create policy edits on public.notes for update to authenticated using (owner = (select auth.uid()))",
        "notes update to authenticated gain",
    ),
    ("owners", "drop policy removes on public.notes", "notes delete authenticated lose"),
    ("owners", "alter table public.notes disable row level security", "notes select anon gain"),
    ("owners", "update public.notes set is_public = true where id = 3", "notes select anon gain"),
    (
        "tenants",
        "alter policy of_tenant on public.docs using (tenant_id is not null)",
        "docs select authenticated gain crosses",
    ),
    (
        "tenants",
        "alter policy of_tenant on public.docs using (folder_tenant = (auth.jwt() -> 'app_metadata' ->> 'tenant_id'))",
        "docs select authenticated gain crosses",
    ),
    (
        "tenants",
        "alter policy of_tenant on public.docs using (tenant_id = (auth.jwt() -> 'user_metadata' ->> 'tenant_id'))",
        "docs select authenticated lose",
    ),
    ("tenants", "drop policy not_secret on public.docs", "docs select authenticated gain"),
    (
        "tenants",
        "alter policy of_tenant on public.docs with check (tenant_id = (auth.jwt() -> 'app_metadata' ->> 'tenant_id'))",
        "docs insert authenticated gain",
    ),
    (
        "tenants",
        "drop policy not_secret on public.docs; create policy not_secret on public.docs to authenticated using (status <> 'secret')",
        "docs select authenticated gain crosses",
    ),
    (
        "members",
        "create or replace function private.is_member(which int) returns boolean language sql stable security definer set search_path = '' as 'select true'",
        "tasks select authenticated gain",
    ),
    (
        "members",
        "alter policy of_team on public.tasks using (exists (select from public.members as member where member.team = member.team and member.person = (select auth.uid())))",
        "tasks select authenticated gain",
    ),
    (
        "members",
        "insert into public.members values (2, '00000000-0000-4000-8000-000000000006')",
        "tasks select authenticated gain",
    ),
    (
        "members",
        "alter policy removes on public.tasks using (exists (select from public.members as member where member.team = tasks.team and member.person = (select auth.uid())))",
        "tasks delete authenticated gain",
    ),
    ("members", "alter policy own on public.members using (false)", "tasks delete authenticated lose"),
    (
        "files",
        "alter policy own_read on storage.objects using (bucket_id = 'avatars')",
        "storage.objects select authenticated gain",
    ),
    (
        "files",
        "alter policy own_write on storage.objects with check (bucket_id = 'avatars')",
        "storage.objects insert authenticated gain",
    ),
    (
        "files",
        "alter policy buckets_read on storage.buckets using (true)",
        "storage.buckets select authenticated gain",
    ),
    (
        "files",
        "alter policy channel_read on realtime.messages using (realtime.topic() like 'team:%')",
        "realtime channels receive authenticated gain",
    ),
    (
        "files",
        "alter policy channel_send on realtime.messages with check (realtime.topic() = 'team:red' and (auth.jwt() -> 'app_metadata' ->> 'tenant_id') = 'red')",
        "realtime channels send authenticated gain",
    ),
    (
        "views",
        "alter view public.nicknames set (security_invoker = off)",
        "nicknames select authenticated gain",
    ),
    (
        "views",
        "grant select (phone) on public.profiles to authenticated",
        "right select authenticated public.profiles.phone",
    ),
    (
        "views",
        "grant execute on function public.admin_report(date) to anon",
        "right execute anon public.admin_report(day date)",
    ),
    (
        "views",
        "create or replace function public.whoami() returns setof public.nicknames language sql stable security definer set search_path = '' as 'select id, tenant_id, nickname from public.profiles'",
        "whoami() select authenticated gain",
    ),
    ("views", "alter policy reads on public.places using (true)", "places select authenticated gain"),
    (
        "views",
        "create table public.secrets (id int)",
        "right select, insert, update, delete anon public.secrets",
    ),
]
"""Schema, SQL, and what must be found: `table command role gain|lose [crosses]`, or `right RIGHT ROLE OBJECT`."""

NEUTRAL = [
    ("owners", "alter policy reads on public.notes using ((select auth.uid()) = owner)"),
    ("owners", "alter policy reads on public.notes using (owner = auth.uid())"),
    ("owners", "alter policy reads on public.notes using (owner::text = (auth.jwt() ->> 'sub'))"),
    ("owners", "alter policy reads on public.notes rename to readers"),
    ("owners", "alter policy shown on public.notes using (is_public is true)"),
    ("owners", "alter policy shown on public.notes using (not (not is_public))"),
    (
        "owners",
        "alter policy edits on public.notes with check (not (is_public or owner <> (select auth.uid())))",
    ),
    (
        "owners",
        "drop policy writes on public.notes; create policy writes on public.notes for insert to authenticated with check (owner = auth.uid())",
    ),
    (
        "owners",
        "create policy more on public.notes for select to authenticated using (owner = auth.uid() and is_public)",
    ),
    ("owners", "create index on public.notes (owner)"),
    ("owners", "alter table public.notes add column stars int not null default 0"),
    ("owners", "alter table public.notes force row level security"),
    ("owners", "update public.notes set body = 'other'"),
    ("owners", "insert into public.notes values (61, '00000000-0000-4000-8000-000000000001', true)"),
    (
        "tenants",
        "alter policy of_tenant on public.docs using ((auth.jwt() #>> '{app_metadata,tenant_id}') = tenant_id)",
    ),
    (
        "tenants",
        "alter policy of_tenant on public.docs using (tenant_id in (select auth.jwt() -> 'app_metadata' ->> 'tenant_id'))",
    ),
    ("tenants", "alter policy not_secret on public.docs using (status is distinct from 'secret')"),
    (
        "tenants",
        "drop policy not_secret on public.docs; create policy not_secret_2 on public.docs as restrictive to authenticated using (not status = 'secret')",
    ),
    ("tenants", "create policy always on public.docs as restrictive using (true)"),
    (
        "tenants",
        "create schema hidden; create function hidden.tenant() returns text language sql stable as $$select auth.jwt() -> 'app_metadata' ->> 'tenant_id'$$; alter policy of_tenant on public.docs using (tenant_id = hidden.tenant())",
    ),
    (
        "members",
        "create or replace function private.is_member(which int) returns boolean language plpgsql stable security definer set search_path = '' as 'begin return exists (select from public.members where team = which and person = auth.uid()); end'",
    ),
    (
        "members",
        "alter policy of_team on public.tasks using (exists (select from public.members as member where member.team = tasks.team and member.person = (select auth.uid())))",
    ),
    (
        "members",
        "alter policy of_team on public.tasks using (team in (select member.team from public.members as member where member.person = (select auth.uid())))",
    ),
    (
        "members",
        "alter policy edits on public.tasks using (private.is_member(team)) with check (private.is_member(team))",
    ),
    ("members", "create schema other; comment on table public.tasks is 'work'"),
    (
        "files",
        "alter policy own_read on storage.objects using (owner_id = (auth.uid())::text and bucket_id = 'avatars')",
    ),
    (
        "files",
        "alter policy own_write on storage.objects with check (bucket_id = 'avatars' and split_part(name, '/', 1) = (select auth.uid()::text))",
    ),
    (
        "files",
        "alter policy channel_read on realtime.messages using ((auth.jwt() -> 'app_metadata' ->> 'tenant_id') = substr(realtime.topic(), 6) and realtime.topic() like 'team:%')",
    ),
    (
        "views",
        "create or replace view public.nicknames with (security_invoker = on) as select id, tenant_id, nickname from public.profiles where true",
    ),
    (
        "views",
        "revoke select (nickname) on public.profiles from authenticated; grant select (nickname) on public.profiles to authenticated",
    ),
    (
        "views",
        "create or replace function public.whoami() returns setof public.nicknames language sql stable as 'select id, tenant_id, nickname from public.nicknames'",
    ),
]
