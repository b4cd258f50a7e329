"""Databases of one project, to be compared."""

import contextlib

import pytest

from schemas.settings.tree import Settings
from workers.project.project_connection import open_project_connection
from workers.project.script_runner import ProjectConnection

BASE = """
create type public.mood as enum ('sad', 'ok');
create table public.people (id uuid primary key default gen_random_uuid(), name text not null, mood public.mood);
create table public.posts (id bigint generated always as identity primary key, person uuid references public.people, title text);
create view public.titles as select id, title from public.posts;
create function public.twice(a int) returns int language sql as 'select a * 2';
alter table public.posts enable row level security;
create policy own on public.posts for select to authenticated using (person = auth.uid());
create index by_title on public.posts (title);
"""


@pytest.fixture(scope="module")
async def new_side(project_server, platform_copies):
    """Open a further database with the platform's schemas and the project; all are gone at the end of the module."""
    async with contextlib.AsyncExitStack() as stack:

        async def side() -> ProjectConnection:
            name = await stack.enter_async_context(platform_copies())
            url = project_server.url("postgres", Settings().db.password.reveal(), name)
            opened = await stack.enter_async_context(open_project_connection(url))
            await opened.connection.execute(BASE)
            return opened

        yield side
