"""The page SQL: texts, runs under roles, warnings, errors at their place, plans, charts, snippets, history, migrations."""

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)

XSS = "<img src=x onerror=console.error('xss')>"


@pytest.fixture(scope="module", autouse=True)
def notes(server: Platform) -> None:
    """A table with rows, one of them hostile; row security hides all but those of nobody."""
    (server.data.parent / "supabase").mkdir(exist_ok=True)
    server.psql(
        "create table public.notes (id bigint generated always as identity primary key, body text, size int);"
        "insert into public.notes (body, size) select 'note ' || n, n * 10 from generate_series(1, 40) n;"
        f"insert into public.notes (body, size) values ($x${XSS}$x$, 7);"
        "alter table public.notes enable row level security; grant select on public.notes to anon"
    )


async def _open(window: DashboardWindow, path: str = "sql") -> Page:
    await window.page.emulate_media(reduced_motion="reduce")  # axe-core sees no colours between two states
    await window.open(path)
    await window.page.get_by_role("textbox", name="SQL statements").wait_for()
    return window.page


async def _write(page: Page, sql: str) -> None:
    editor = page.get_by_role("textbox", name="SQL statements")
    await editor.click()
    await page.keyboard.press("Control+a")
    await page.keyboard.insert_text(sql)


async def _run(page: Page, sql: str) -> None:
    await _write(page, sql)
    await page.keyboard.press("Control+Enter")


async def test_statements_run_and_show_their_results(window: DashboardWindow) -> None:
    page = await _open(window)
    await _run(
        page, "select count(*) as total from notes;\nselect id, body, size from notes order by size limit 20"
    )

    await expect(page.get_by_role("gridcell", name=XSS)).to_be_visible()
    await expect(page.get_by_role("tab", name="2: SELECT 20")).to_have_attribute("aria-selected", "true")
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("sql")
    await page.get_by_role("tab", name="1: SELECT 1").click()
    await expect(page.get_by_role("gridcell", name="41", exact=True)).to_be_visible()

    await page.reload()
    await expect(page.get_by_role("textbox", name="SQL statements")).to_contain_text("as total")


async def test_the_selection_runs_alone(window: DashboardWindow) -> None:
    page = await _open(window)
    await _write(page, "select 1 as first;\nselect 2 as second")
    await page.keyboard.press("Home")
    await page.keyboard.press("Shift+End")
    await page.keyboard.press("Control+Enter")

    await expect(page.get_by_role("columnheader", name="second")).to_be_visible()
    await expect(page.get_by_text("1 row ·")).to_be_visible()


async def test_an_error_is_shown_at_its_place(window: DashboardWindow) -> None:
    page = await _open(window)
    await _run(page, f"select 1;\nselect no_such_column, $${XSS}$$ from notes")

    await expect(page.get_by_role("alert")).to_contain_text('column "no_such_column" does not exist')
    await expect(page.get_by_text("line 2, column 8")).to_be_visible()
    await expect(page.locator(".cm-lintRange-error")).to_have_text("n")
    await window.check_accessibility()
    await window.screenshot("sql-error")


async def test_rows_are_those_that_a_role_sees(window: DashboardWindow) -> None:
    page = await _open(window)
    await page.get_by_role("button", name="Run as").click()
    await page.get_by_role("option", name="anon").click()
    await _run(page, "select count(*)::text || ' rows are seen' as seen from notes")

    await expect(page.get_by_role("gridcell", name="0 rows are seen")).to_be_visible()


async def test_the_claims_of_a_user_hold(window: DashboardWindow, owner: Administrator) -> None:
    owner.run("users.create", email="ann@example.com", password="a long enough password")
    page = await _open(window)
    await page.get_by_role("button", name="Run as").click()
    await page.get_by_role("option", name="authenticated").click()
    await page.get_by_role("button", name="User").click()
    await page.get_by_role("option", name="ann@example.com").click()
    await _run(page, "select auth.jwt() ->> 'email' as email, current_user::text as role")

    await expect(page.get_by_role("gridcell", name="ann@example.com")).to_be_visible()
    await expect(page.get_by_role("gridcell", name="authenticated")).to_be_visible()


async def test_what_destroys_is_named_before_it_runs(window: DashboardWindow, server: Platform) -> None:
    server.psql("create table public.doomed (id int); insert into doomed values (1), (2); analyze doomed")
    page = await _open(window)
    await _run(page, "delete from doomed")
    await expect(page.get_by_role("alert")).to_contain_text("read-only transaction")

    await page.get_by_text("Read only", exact=True).click()
    await _run(page, "delete from doomed")
    question = page.get_by_role("dialog", name="This text destroys or locks something")
    await expect(question).to_contain_text("doomed (about 2 rows)")
    assert await window.run_axe() == []
    await window.screenshot("sql-warning")
    await question.get_by_role("button", name="Cancel").click()
    assert "2" in server.psql("select count(*) from doomed")
    await _run(page, "delete from doomed")
    await question.get_by_role("button", name="Run it").click()

    await expect(page.get_by_text("Done: DELETE 2")).to_be_visible()


async def test_a_run_is_cancelled(window: DashboardWindow, server: Platform) -> None:
    page = await _open(window)
    await _run(page, "select pg_advisory_lock(4242), pg_sleep(120)")
    while "1" not in server.psql(
        "select count(*) from pg_locks where locktype = 'advisory' and objid = 4242"
    ):
        pass
    await page.get_by_role("button", name="Cancel", exact=True).click()

    await expect(page.get_by_role("alert")).to_contain_text("57014")


async def test_a_cut_result_is_said_and_streamed(window: DashboardWindow) -> None:
    page = await _open(window)
    await _run(page, "select n as number, 'row ' || n as name from generate_series(1, 5000) n")

    await expect(page.get_by_text("The result was cut after 1,000 rows.")).to_be_visible()
    await page.get_by_role("button", name="Stream the rows here").click()
    await expect(page.get_by_text("5,000 rows ·")).to_be_visible()
    await page.get_by_role("gridcell", name="row 1", exact=True).click()
    await page.get_by_role("dialog", name="Row 1").get_by_text("row 1", exact=True).wait_for()
    await page.keyboard.press("Escape")
    await page.get_by_role("row", name="row 1", exact=False).nth(0).focus()
    await page.keyboard.press("End")

    await expect(page.get_by_role("gridcell", name="row 5000", exact=True)).to_be_visible()


async def test_a_stream_that_is_stopped_says_where_it_was_cut(window: DashboardWindow) -> None:
    page = await _open(window)
    await _run(
        page,
        "select n, repeat('x', 500) as filler, case when n > 2000 then pg_sleep(0.05)::text end as pause"
        " from generate_series(1, 9000) n",
    )
    await page.get_by_role("button", name="Stream the rows here").click()
    await expect(page.get_by_text(re.compile(r"^[1-9][\d,]* rows so far"))).to_be_visible()
    await page.get_by_role("button", name="Stop", exact=True).click()

    await expect(page.get_by_text(re.compile(r"The result was cut after \d,\d{3} rows"))).to_be_visible()


async def test_a_result_is_drawn_and_saved(window: DashboardWindow) -> None:
    page = await _open(window)
    await _run(page, "select body, size from notes order by id limit 12")
    await page.get_by_role("button", name="Chart").click()
    await page.get_by_role("img", name="size by body").wait_for()
    await window.check_accessibility()
    await window.screenshot("sql-chart")

    await page.get_by_role("button", name="Copy or save").click()
    async with page.expect_download() as waiting:
        await page.get_by_role("menuitem", name="Save as JSON").click()
    rows = json.loads(Path(await (await waiting.value).path()).read_text())
    assert rows[0] == {"body": "note 1", "size": 10}


async def test_a_plan_is_a_tree_with_its_estimates(window: DashboardWindow) -> None:
    page = await _open(window)
    await _write(page, "select * from notes cross join jsonb_array_elements('[1, 2]')")
    await page.get_by_role("button", name="Explain").click()
    await page.get_by_role("menuitem", name="Run and measure").click()

    plan = page.get_by_role("list", name="Plan")
    await expect(plan.get_by_text("public.notes", exact=True)).to_be_visible()
    await expect(plan.get_by_text("times fewer than estimated").first).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("sql-plan")


async def test_snippets_are_files_and_runs_are_listed(window: DashboardWindow, server: Platform) -> None:
    page = await _open(window)
    await _run(page, "select 'from a snippet' as source")
    await page.get_by_role("gridcell", name="from a snippet").wait_for()
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.get_by_role("menuitem", name="Save as a snippet").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("Where from")
    await page.get_by_role("dialog").get_by_role("button", name="Save", exact=True).click()
    await page.get_by_text("Saved as the snippet Where from").wait_for()
    await page.get_by_role("button", name="New query").click()
    await page.get_by_role("button", name="Snippets").click()
    await page.get_by_role("dialog", name="Snippets").get_by_role("button", name="Where from").first.click()
    await expect(page.get_by_role("textbox", name="SQL statements")).to_contain_text("from a snippet")
    await page.get_by_role("button", name="New query").click()
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Search or run").fill("Where fr")
    await page.get_by_role("option", name="Where from").click()
    await expect(page.get_by_role("textbox", name="SQL statements")).to_contain_text("from a snippet")

    await page.get_by_role("button", name="History").click()
    past = page.get_by_role("dialog", name="History")
    await expect(past.get_by_role("button", name="from a snippet")).to_be_visible()
    assert await window.run_axe() == []
    await window.screenshot("sql-history")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Snippets").click()
    await page.get_by_role("button", name="Delete the snippet Where from").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(page.get_by_text("No snippets yet")).to_be_visible()


async def test_two_tabs_of_a_browser_keep_each_others_texts(window: DashboardWindow) -> None:
    page = await _open(window)
    other = await page.context.new_page()
    await other.goto(page.url)
    await other.get_by_role("button", name="New query").click()
    await _write(other, "select 'of the other'")
    await page.bring_to_front()
    await _write(page, "select 'of the first'")

    await other.reload()
    for text in ("of the other", "of the first"):
        await expect(other.get_by_role("navigation", name="Open queries").get_by_text(text)).to_be_visible()


async def test_a_text_becomes_a_migration(window: DashboardWindow, server: Platform) -> None:
    page = await _open(window)
    await _write(page, "create table public.from_the_page (id int primary key)")
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.get_by_role("menuitem", name="Save as a migration").click()
    await page.get_by_label("What it does").fill("add a table")
    await page.get_by_role("button", name="Apply and save").click()
    await page.get_by_text("Applied and saved as supabase/migrations/").wait_for()

    assert "from_the_page" in server.psql("select to_regclass('public.from_the_page')")


async def test_names_complete_from_the_catalog(window: DashboardWindow) -> None:
    page = await _open(window)
    await _write(page, "select * from not")
    await page.keyboard.press("Control+Space")

    await expect(page.get_by_role("option", name="notes")).to_be_visible()


async def test_a_reader_only_reads(browser: Browser, server: Platform) -> None:
    reader = add_administrator(server, "reader")
    async with open_window(browser, server, reader) as window:
        page = await _open(window)
        await expect(page.get_by_role("switch", name="Read only")).to_be_disabled()
        await expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
        await _run(page, "select count(*)::text || ' notes' as total from notes")

        await expect(page.get_by_role("gridcell", name="41 notes")).to_be_visible()
