"""The difference of access: seconds for many rows and many users, on a server without a platform.

    python -m tests.bench.access [--rows 1000000] [--users 1000]

Each case changes a policy of a table whose rows belong to the users in turn. The time is that of the whole comparison, the catalog and the
migration included.
"""

import argparse
import asyncio
import time

from schemas.settings.tree import Settings
from tests.workers.database.server import migrated_server
from workers.project.access.model import AccessQuestion
from workers.project.access.report import as_text
from workers.project.access.trial import access_of_migrations
from workers.project.project_connection import open_project_connection
from workers.project.project_folder import Script

_SCHEMA = """
insert into auth.users (id, email, aud, role, raw_app_meta_data)
select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'u' || n || '@example.com', 'authenticated', 'authenticated',
  jsonb_build_object('tenant_id', 'tenant ' || n % 50) from generate_series(1, {users}) as n;
create table public.docs (id int primary key, owner uuid not null, tenant_id text not null, status text not null, title text);
create table public.members (tenant_id text, person uuid, primary key (tenant_id, person));
create schema private;
create function private.is_member(which text) returns boolean language sql stable security definer set search_path = ''
  as 'select exists (select from public.members as member where member.tenant_id = which and member.person = auth.uid())';
insert into public.docs select n, ('00000000-0000-4000-8000-' || lpad((1 + n % {users})::text, 12, '0'))::uuid, 'tenant ' || n % 50,
  (array['draft', 'done', 'secret'])[1 + n % 3], 'document ' || n from generate_series(1, {rows}) as n;
insert into public.members select raw_app_meta_data ->> 'tenant_id', id from auth.users;
alter table public.docs enable row level security;
create policy reads on public.docs for select to authenticated using (owner = (select auth.uid()));
create policy edits on public.docs for update to authenticated using (tenant_id = (auth.jwt() -> 'app_metadata' ->> 'tenant_id'));
create policy removes on public.docs for delete to authenticated using (private.is_member(tenant_id));
analyze
"""
_CASES = {
    "or true": "alter policy reads on public.docs using (owner = (select auth.uid()) or true)",
    "a rewrite": "alter policy reads on public.docs using ((auth.jwt() ->> 'sub') = owner::text)",
    "rows written": "update public.docs set status = 'draft' where status = 'done'; drop policy removes on public.docs",
    "policies that read the key": "alter policy reads on public.docs using (owner = (select auth.uid()) or id % 7 = 0)",
}


async def measure(url: str, rows: int, users: int) -> None:
    """Make the database, then measure and print each case."""
    async with open_project_connection(url) as project:
        await project.connection.execute(_SCHEMA.format(rows=rows, users=users))
    question = AccessQuestion(sample=users, tenant_claim="app_metadata.tenant_id")
    for title, sql in _CASES.items():
        begun, cpu = time.monotonic(), time.process_time()
        found = await access_of_migrations(url, [Script("change.sql", sql)], question, timeout_s=600)
        took, spent = time.monotonic() - begun, time.process_time() - cpu
        print(f"{title}: {took:.1f} s, {spent:.1f} s of CPU in this process, {rows:,} rows, {users:,} users")
        print("\n".join(f"    {line[:220]}" for line in as_text(found).splitlines()[:8]))


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=1000)
    options = parser.parse_args()
    with migrated_server() as server:
        url = server.url("postgres", Settings().db.password.reveal())
        asyncio.run(measure(url, options.rows, options.users))


if __name__ == "__main__":
    main()
