"""Statistics of statements: created for every project, and closed to the API's roles where they could do harm."""

import asyncpg

from tests.schemas.callers import API_ROLES, refused


async def test_they_stand_ready_in_schema_extensions(embedded: object, project: asyncpg.Connection) -> None:
    row = await project.fetchrow(
        "select extnamespace::regnamespace::text, extowner::regrole::text from pg_extension"
        " where extname = 'pg_stat_statements'"
    )

    assert row is not None
    assert tuple(row) == ("extensions", "postgres")


async def test_the_roles_of_the_interface_do_not_reset_them(
    embedded: object, admin: asyncpg.Connection
) -> None:
    for role in API_ROLES:
        call = "select extensions.pg_stat_statements_reset()"
        assert await refused(admin, f"set local role {role}; {call}"), role
