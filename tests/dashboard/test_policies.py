"""The page Policies: the matrix, policies of a table as migrations, templates, a trial on rows."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)

XSS = "<img src=x onerror=console.error('xss')>"


@pytest.fixture(scope="module", autouse=True)
def tables(server: Platform) -> None:
    """An open table with a hostile name, and tables that row security guards."""
    (server.data.parent / "supabase").mkdir(exist_ok=True)
    grants = "select, insert, update, delete"
    server.psql(
        f'create table public."{XSS}" (id int primary key); grant {grants} on public."{XSS}" to anon, authenticated;'
        "create table public.todos (id int primary key, user_id uuid, body text);"
        "create table public.drafts (id int primary key, user_id uuid);"
        "alter table public.todos enable row level security; alter table public.drafts enable row level security;"
        f"grant {grants} on public.todos, public.drafts to anon, authenticated;"
        f'create policy "{XSS}" on public.todos for select using (true)'
    )


async def _apply(page: Page, title: str) -> None:
    """Apply the SQL that the dialog shows."""
    dialog = page.get_by_role("dialog", name=title)
    await dialog.get_by_role("button", name="Apply and save").click()
    await page.get_by_text("Applied and saved as supabase/migrations/").first.wait_for()
    await expect(dialog).to_have_count(0)


async def test_the_matrix_warns_of_open_tables(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    await window.open("policies")
    row = page.get_by_role("row", name=XSS)
    await expect(row.get_by_text("all rows")).to_have_count(8)
    await expect(page.get_by_text("1 table is open to clients without row security")).to_be_visible()
    await expect(page.get_by_role("row", name="todos").get_by_text("1 policy")).to_have_count(2)
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("policies")

    await page.emulate_media(reduced_motion="reduce")  # axe-core sees no colours between two states
    await row.get_by_role("button", name="Turn on").click()
    await expect(page.get_by_role("region", name="SQL of the change")).to_contain_text(
        "enable row level security"
    )
    assert await window.run_axe() == []
    await window.screenshot("policies-change")
    await _apply(page, "Turn row security on")

    await expect(row.get_by_text("no rows")).to_have_count(8)
    await page.get_by_role("searchbox", name="Find a table").fill("todo")
    await expect(page.get_by_role("row", name="drafts")).to_have_count(0)


async def test_a_policy_is_written_changed_and_dropped(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    await page.emulate_media(reduced_motion="reduce")  # axe-core sees no colours between two states
    await window.open("policies/public/todos")
    await page.get_by_role("button", name="New policy").click()
    form = page.get_by_role("dialog", name="New policy")
    await form.get_by_label("Name").fill("read own")
    await form.get_by_role("textbox", name="Rows that exist (using)").click()
    await page.keyboard.insert_text("user_id = (select auth.uid())")
    assert await window.run_axe() == []
    await window.screenshot("policies-form")
    await form.get_by_role("button", name="Show the SQL").click()
    await expect(page.get_by_role("region", name="SQL of the change")).to_contain_text("create policy")
    await page.get_by_role("button", name="Who gains, who loses access?").click()
    await expect(page.get_by_role("region", name="Difference of access")).to_contain_text(
        "No caller gains or loses access."  # a policy shows all rows
    )
    assert await window.run_axe() == []
    await _apply(page, "Add the policy")

    await page.get_by_role("button", name="Edit read own").click()
    form = page.get_by_role("dialog", name="Edit read own")
    await form.get_by_label("Name").fill("read mine")
    await form.get_by_role("button", name="Show the SQL").click()
    await _apply(page, "Change the policy")

    await page.get_by_role("button", name="Drop read mine").click()
    await _apply(page, "Drop the policy")
    await expect(page.get_by_role("button", name="Drop read mine")).to_have_count(0)
    await expect(page.get_by_role("button", name=f"Drop {XSS}")).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    saved = [file.read_text() for file in (server.data.parent / "supabase" / "migrations").iterdir()]
    assert sum("read own" in text for text in saved) == 2
    assert sum("drop policy" in text.lower() for text in saved) == 1


async def test_a_wrong_expression_is_explained(window: DashboardWindow) -> None:
    page = window.page
    await window.open("policies/public/todos")
    await page.get_by_role("button", name="New policy").click()
    form = page.get_by_role("dialog", name="New policy")
    await form.get_by_label("Name").fill("broken")
    await form.get_by_role("textbox", name="Rows that exist (using)").click()
    await page.keyboard.insert_text("no_such_column = 1")
    await form.get_by_role("button", name="Show the SQL").click()
    dialog = page.get_by_role("dialog", name="Add the policy")
    await (
        dialog.get_by_role("button", name="Apply and save").or_(dialog.get_by_role("alert")).first.wait_for()
    )
    if await dialog.get_by_role("alert").count() == 0:
        await dialog.get_by_role("button", name="Apply and save").click()

    await expect(dialog.get_by_role("alert")).to_contain_text("no_such_column")


async def test_a_template_decides_who_sees_which_rows(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    made = owner.run("users.create", email="bob@example.com", password="a long enough password")
    user = made.get("id") or made["user"]["id"]
    server.psql(f"insert into drafts values (1, '{user}'), (2, gen_random_uuid())")
    page = window.page
    await page.emulate_media(reduced_motion="reduce")  # axe-core sees no colours between two states
    await window.open("policies/public/drafts")
    await page.get_by_text("Row security is on and there is no policy").wait_for()

    await page.get_by_role("button", name="From a template").click()
    await page.get_by_role("dialog").get_by_label("Column with the user's id").wait_for()
    assert await window.run_axe() == []
    await page.get_by_role("button", name="Show the SQL").click()
    await _apply(page, "Add the policy")
    await page.get_by_text("Owners delete their rows", exact=True).first.wait_for()
    await expect(page.get_by_role("row", name="id 1").get_by_text("no", exact=True)).to_have_count(3)
    await page.get_by_role("button", name="As").click()
    await page.get_by_role("option", name="bob@example.com").click()

    await expect(page.get_by_role("row", name="id 1").get_by_text("yes", exact=True)).to_have_count(3)
    await expect(page.get_by_role("row", name="id 2").get_by_text("no", exact=True)).to_have_count(3)
    await window.check_accessibility()
    await window.screenshot("policies-table")


async def test_a_reader_looks_and_changes_nothing(browser: Browser, server: Platform) -> None:
    reader = add_administrator(server, "reader")
    async with open_window(browser, server, reader) as window:
        await window.open("policies/public/todos")
        await window.page.get_by_text("using", exact=True).first.wait_for()

        await expect(window.page.get_by_role("button", name="New policy")).to_have_count(0)
        await expect(window.page.get_by_role("button", name="Turn row security off")).to_have_count(0)


async def test_a_table_that_is_gone_is_said(window: DashboardWindow) -> None:
    await window.page.goto(f"{window.url}/_/policies/public/no_such_table")

    await expect(window.page.get_by_role("alert")).to_contain_text("no_such_table")
