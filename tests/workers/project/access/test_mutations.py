"""Every seeded fault of five schemas is found, and no rewrite that means the same is reported."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack

import pytest

from schemas.settings.tree import Settings
from tests.workers.database.server import Server
from tests.workers.project.access.schemas import MUTATIONS, NEUTRAL, PEOPLE, SCHEMAS
from tests.workers.project.conftest import Copies
from workers.project.access.model import AccessDifference, AccessQuestion
from workers.project.access.report import as_text
from workers.project.access.trial import access_of_migrations
from workers.project.project_connection import open_project_connection
from workers.project.project_folder import Script

QUESTION = AccessQuestion(tenant_claim="app_metadata.tenant_id")


@pytest.fixture(scope="module")
async def urls(project_server: Server, platform_copies: Copies) -> AsyncIterator[Mapping[str, str]]:
    """A database of each schema, for role postgres."""
    async with AsyncExitStack() as stack:
        made = {}
        for name, sql in SCHEMAS.items():
            database = await stack.enter_async_context(platform_copies())
            made[name] = project_server.url("postgres", Settings().db.password.reveal(), database)
            async with open_project_connection(made[name]) as project:
                await project.connection.execute(PEOPLE + sql)
        yield made


async def difference(url: str, sql: str) -> AccessDifference:
    return await access_of_migrations(url, [Script("1_change.sql", sql)], QUESTION, timeout_s=60)


@pytest.mark.parametrize(("schema", "sql", "expected"), MUTATIONS)
async def test_a_fault_is_found(urls: Mapping[str, str], schema: str, sql: str, expected: str) -> None:
    found = await difference(urls[schema], sql)

    lines = {f"right {right.right} {right.role} {right.object}" for right in found.rights if right.is_gained}
    for row in found.rows:
        table = row.table.removeprefix("public.")
        lines |= {f"{table} {row.command} {row.role} gain"} if row.gaining else set()
        lines |= {f"{table} {row.command} {row.role} gain crosses"} if row.crosses_tenants else set()
        lines |= {f"{table} {row.command} {row.role} lose"} if row.losing else set()
    assert expected in lines, as_text(found)


@pytest.mark.parametrize(("schema", "sql"), NEUTRAL)
async def test_a_rewrite_that_means_the_same_is_not_reported(
    urls: Mapping[str, str], schema: str, sql: str
) -> None:
    found = await difference(urls[schema], sql)

    assert (found.is_empty, found.alarms) == (True, []), as_text(found)
