"""Performance: findings with their fix, dismissal, statements with plans, sessions and locks, indexes and sizes."""

import asyncio
import re
from collections.abc import Iterator

import psycopg
import pytest
from playwright.async_api import Browser, expect

from tests.dashboard.administrators import add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

_HOSTILE = "<img src=x onerror=console.error(1)>"
_SCHEMA = f"""
create table public.open_notes (id bigint primary key, body text);
create table public.other_notes (id bigint primary key, note bigint references public.open_notes);
create index on public.open_notes (body);
create index on public.open_notes (body);
create table public."{_HOSTILE}" (body text);
select "{_HOSTILE}".body as "{_HOSTILE}" from public."{_HOSTILE}";
"""
pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module", autouse=True)
def schema(server: Platform) -> None:
    """Tables with faults that advisors find."""
    (server.data.parent / "supabase").mkdir(exist_ok=True)  # else there is no folder for migrations
    server.psql(_SCHEMA)


@pytest.fixture
def blocked(server: Platform) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A session that locks a table."""
    with psycopg.connect(server.values["DB_URL"]) as connection:
        connection.execute("lock table public.open_notes in access exclusive mode")
        yield connection


async def test_a_finding_is_fixed_by_a_migration(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    await window.open("performance")
    findings = page.get_by_role("region", name="All findings")
    kind = findings.get_by_role("grid", name="Served table without row level security")
    row = kind.get_by_role("row").filter(has_text="public.open_notes")
    await row.wait_for()
    await window.screenshot("performance")
    await window.check_accessibility()
    await window.check_narrow()
    await row.focus()
    await page.keyboard.press("Enter")
    panel = page.get_by_role("dialog", name="Served table without row level security")
    await expect(panel.get_by_role("region", name="SQL of the fix")).to_contain_text(
        "alter table public.open_notes enable row level security"
    )
    await window.screenshot("performance-finding")
    await window.check_accessibility()
    await panel.get_by_label("Name of the migration").fill("protect_notes")
    await panel.get_by_role("button", name="Apply as a migration").click()

    await expect(page.get_by_text("Applied and saved as")).to_be_visible()
    await expect(row).to_have_count(0)
    [file] = server.data.parent.glob("**/migrations/*_protect_notes.sql")
    assert "enable row level security" in file.read_text()


async def test_a_finding_is_dismissed_with_a_reason_and_restored(window: DashboardWindow) -> None:
    page = window.page
    await window.open("performance?kind=PERFORMANCE")
    row = page.get_by_role("region", name="All findings").get_by_role("row").filter(has_text=_HOSTILE)
    await row.click()
    panel = page.get_by_role("dialog", name="Table without a primary key")
    await expect(panel.get_by_text(f'Table public."{_HOSTILE}" has no primary key')).to_be_visible()
    await panel.get_by_label("Reason").fill("It is filled once")
    await panel.get_by_role("button", name="Dismiss", exact=True).click()
    await expect(row).to_have_count(0)
    await page.get_by_text("Dismissed ones too").click()
    await row.click()
    await expect(panel.get_by_text("It is filled once")).to_be_visible()
    await window.check_accessibility()
    await panel.get_by_role("button", name="Restore").click()
    await page.get_by_text("Dismissed ones too").click()

    await expect(row).to_be_visible()


async def test_a_statement_has_its_plan(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    server.psql("select count(*) from public.open_notes where id > 10")
    await window.open("performance/statements?role=postgres")
    statements = page.get_by_role("grid", name="Statements")
    await expect(statements.get_by_role("row").filter(has_text=_HOSTILE).first).to_be_visible()
    await window.screenshot("performance-statements")
    await window.check_accessibility()
    await window.check_narrow()
    await statements.get_by_role("row").filter(has_text="from public.open_notes where id").click()

    plan = page.get_by_role("dialog", name="Statement").get_by_role("list", name="Plan")
    await expect(plan).to_contain_text("Aggregate")
    await expect(plan).to_contain_text("open_notes")
    await window.screenshot("performance-plan")
    await window.check_accessibility()


async def test_a_statement_that_waits_for_a_lock_is_cancelled(
    window: DashboardWindow, server: Platform, blocked: psycopg.Connection[tuple[object, ...]]
) -> None:
    page = window.page
    async with await psycopg.AsyncConnection.connect(server.values["DB_URL"], autocommit=True) as waiting:
        task = asyncio.create_task(waiting.execute("select body from public.open_notes"))
        await window.open("performance/sessions")
        session = (
            page.get_by_role("grid", name="Sessions").get_by_role("row").filter(has_text="select body from")
        )
        await expect(session).to_contain_text(f"blocked by {blocked.info.backend_pid}")
        lock = page.get_by_role("grid", name="Locks that are awaited").get_by_role("row")
        await expect(lock.filter(has_text="public.open_notes").first).to_be_visible()
        await window.screenshot("performance-sessions")
        await window.check_accessibility()
        await window.check_narrow()
        await session.click()
        await page.get_by_role("button", name="Cancel the statement").click()
        question = page.get_by_role("dialog", name="Cancel the statement")
        await expect(question).to_contain_text(str(waiting.info.backend_pid))
        await question.get_by_role("button", name="Cancel the statement").click()

        with pytest.raises(psycopg.errors.QueryCanceled):
            await task
        await expect(session).to_have_count(0)


async def test_duplicate_indexes_and_sizes_are_listed(window: DashboardWindow) -> None:
    page = window.page
    await window.open("performance/indexes")
    advised = page.get_by_role("region", name="Unused and duplicate indexes")
    await advised.get_by_role("row").filter(has_text="public.open_notes").first.wait_for()
    await page.get_by_label("Find an index or a table").fill("open_notes")
    indexes = page.get_by_role("grid", name="All indexes")
    await indexes.get_by_role("row").filter(has_text="open_notes_body_idx1").click()
    await expect(page.get_by_role("region", name="Definition")).to_contain_text(
        "CREATE INDEX open_notes_body_idx1"
    )
    await page.keyboard.press("Escape")
    await window.screenshot("performance-indexes")
    await window.check_accessibility()
    await window.check_narrow()
    await page.get_by_role("tab", name="Sizes and bloat").click()
    await page.get_by_label("Find a table").fill("<img")
    tables = page.get_by_role("grid", name="Tables", exact=True)
    await expect(tables.get_by_role("row").filter(has_text=_HOSTILE)).to_be_visible()
    await window.screenshot("performance-tables")
    await window.check_accessibility()
    await window.check_narrow()


async def test_an_index_is_found_tried_and_becomes_a_migration(
    window: DashboardWindow, server: Platform
) -> None:
    page = window.page
    server.psql(
        "create table public.parcels (id bigint primary key, hub int, weight int);"
        " insert into public.parcels select n, n % 2000, n from generate_series(1, 30000) n; analyze public.parcels"
    )
    server.psql("select id from public.parcels where hub = 7")
    await window.open("performance/indexes")
    await page.get_by_role("button", name="Look for indexes").click()
    found = page.get_by_role("grid", name="Indexes that statements ask for")
    await (
        found.get_by_role("row").filter(has_text="create index concurrently on public.parcels (hub)").click()
    )
    panel = page.get_by_role("dialog", name="Proposed index")
    await panel.get_by_role("button", name="Try it").click()
    saved = panel.locator(".figure").filter(has=page.get_by_text("Saved", exact=True))
    await expect(saved.locator(".figure-value")).to_have_text(re.compile(r"^[89]\d%$"))
    await expect(panel.get_by_role("region", name="SQL of the fix")).to_contain_text(
        "Tried on a copy of the rows: cost"
    )
    await panel.get_by_text("Both plans").click()
    await window.screenshot("performance-index")
    await window.check_accessibility()
    await panel.get_by_label("Name of the migration").fill("index_hubs")
    await panel.get_by_role("button", name="Apply as a migration").click()

    await expect(page.get_by_text("Applied and saved as")).to_be_visible()
    await expect(found.get_by_role("row").filter(has_text="parcels")).to_have_count(0)
    [file] = server.data.parent.glob("**/migrations/*_index_hubs.sql")
    assert "create index concurrently on public.parcels (hub);" in file.read_text()
    assert "parcels_hub_idx" in server.psql("select indexname from pg_indexes where tablename = 'parcels'")


async def test_a_reader_sees_findings_and_no_changes(browser: Browser, server: Platform) -> None:
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        page = window.page
        await window.open("performance")
        await page.get_by_role("region", name="All findings").get_by_role("row").nth(1).click()
        await page.get_by_role("dialog").get_by_text("Why it matters").wait_for()

        await expect(page.get_by_label("Reason")).to_have_count(0)
        await expect(page.get_by_role("button", name="Apply as a migration")).to_have_count(0)
