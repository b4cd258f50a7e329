"""What a comparison leaves behind, refuses, samples, and how two databases are compared."""

from collections.abc import AsyncIterator

import pytest

from schemas.settings.tree import Settings
from tests.workers.database.server import Server
from tests.workers.project.access.schemas import OWNERS, PEOPLE, USERS
from tests.workers.project.conftest import Copies
from workers.project.access import compare
from workers.project.access.model import AccessDifference, AccessQuestion
from workers.project.access.report import as_text
from workers.project.access.trial import access_between, access_of_migrations
from workers.project.errors import ProjectRejected
from workers.project.project_connection import open_project_connection
from workers.project.project_folder import Script


@pytest.fixture(scope="module")
async def url(project_server: Server, platform_copies: Copies) -> AsyncIterator[str]:
    async with platform_copies() as database:
        made = project_server.url("postgres", Settings().db.password.reveal(), database)
        async with open_project_connection(made) as project:
            await project.connection.execute(PEOPLE + OWNERS)
        yield made


async def difference(url: str, sql: str, question: AccessQuestion | None = None) -> AccessDifference:
    question = question or AccessQuestion(statement_timeout_s=0.5)
    return await access_of_migrations(url, [Script("1_change.sql", sql)], question, timeout_s=60)


@pytest.mark.parametrize(
    ("sql", "users", "reason"),
    [
        ("select 1; vacuum", [], "cannot run in a transaction"),
        ("alter policy reads on public.notes using (true); commit", [], "cannot run in a transaction"),
        ("do $$begin commit; end$$", [], "cannot run in a transaction"),
        ("select 1", ["00000000-0000-4000-8000-0000000000ff"], "There is no user"),
    ],
)
async def test_what_cannot_be_tried_is_refused(url: str, sql: str, users: list[str], reason: str) -> None:
    with pytest.raises(ProjectRejected, match=reason):
        await difference(url, sql, AccessQuestion(users=users))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("perform set_config('role', 'postgres', true); insert into public.stolen values (1); return true", "read-only"),
        ("perform set_config('transaction_read_only', 'off', true); return true", "read-only transaction"),
        ("perform pg_sleep(5); return true", "statement timeout"),
        ("return 1 / 0 = 1", "division by zero"),
    ],
)  # fmt: skip
async def test_code_of_a_policy_cannot_write_and_has_a_limit(url: str, body: str, reason: str) -> None:
    """It fails, counts as closed, and is named; nothing of it stays."""
    change = (
        "create table public.stolen (n int); revoke all on public.stolen from anon, authenticated, service_role;"
        f"create function public.trick() returns boolean language plpgsql as $$begin {body}; end$$;"
        "alter policy shown on public.notes using (is_public or public.trick())"
    )

    found = await difference(url, change)

    assert [note for note in found.notes if reason in note], as_text(found)
    assert [row.command for row in found.rows if row.role == "anon" and row.losing] == ["select"]
    async with open_project_connection(url) as project:
        assert await project.connection.fetchval("select to_regclass('public.stolen')") is None


async def test_a_role_that_a_policy_changes_is_not_the_next_callers(url: str) -> None:
    change = (
        "create function public.become() returns boolean language plpgsql as "
        "$$begin perform set_config('role', 'postgres', false); return current_user = 'postgres'; end$$;"
        "create policy odd on public.notes for select to authenticated using (public.become() and false)"
    )

    found = await difference(url, change)

    assert found.rows == [], as_text(found)


async def test_too_many_groups_are_sampled_with_their_error(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "_FEWEST_CLASSES", 20)
    monkeypatch.setattr(compare, "_MOST_EVALUATIONS", 1)

    found = await difference(url, "alter policy shown on public.notes using (id > 0)")

    anon = next(row for row in found.rows if (row.role, row.command) == ("anon", "select"))
    assert anon.is_estimate and 24 <= anon.gained <= 60  # noqa: PT018 - one estimate: 48 rows of 60 are gained
    assert any("20 of 60 rows were tried" in note for note in found.notes)


async def test_a_named_user_is_tried_alone(url: str) -> None:
    found = await difference(
        url, "alter policy reads on public.notes using (true)", AccessQuestion(users=[USERS[0]])
    )

    select = next(row for row in found.rows if (row.role, row.command) == ("authenticated", "select"))
    assert (select.callers, select.gained) == (2, 60)  # the user, and a new one who had none


async def test_two_databases_are_compared_by_the_rows_that_both_have(
    url: str, project_server: Server, platform_copies: Copies
) -> None:
    async with platform_copies() as database:
        other = project_server.url("postgres", Settings().db.password.reveal(), database)
        async with open_project_connection(other) as project:
            await project.connection.execute(PEOPLE + OWNERS)
            same = await access_between(url, other, AccessQuestion(), timeout_s=60)
            await project.connection.execute(
                "alter policy shown on public.notes using (is_public or id = 1); delete from public.notes where id = 5;"
                "insert into public.notes values (99, gen_random_uuid(), true)"
            )

            found = await access_between(url, other, AccessQuestion(), timeout_s=60)

    assert same.is_empty, as_text(same)
    assert [(row.table, row.command, row.role, row.gained, row.lost) for row in found.rows] == [
        ("public.notes", "select", "anon", 1, 0)
    ]


async def test_a_view_that_is_too_slow_for_one_caller_is_named_and_read_by_no_other(
    url: str, project_server: Server, platform_copies: Copies
) -> None:
    """Its 20 readers in two states would use up the time of everything else."""
    async with platform_copies() as database:
        other = project_server.url("postgres", Settings().db.password.reveal(), database)
        async with open_project_connection(other) as project:
            await project.connection.execute(
                PEOPLE
                + OWNERS
                + "create view public.slow as select id from public.notes where pg_sleep(0.2) is not null"
            )

        found = await difference(
            other,
            "alter policy reads on public.notes using (true)",
            AccessQuestion(statement_timeout_s=0.2),
        )

    named = [note for note in found.notes if "public.slow" in note]
    assert named == ["public.slow was not compared: a caller needs longer than 0.2 s to read it"]
    assert found.rows, as_text(found)
