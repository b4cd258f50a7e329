"""The first page: the state of the platform, what needs attention, and how applications connect."""

import re

import pytest
from playwright.async_api import Browser, expect

from tests.dashboard.administrators import add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

_HOSTILE = "<img src=x onerror=console.error(1)>"
pytestmark = pytest.mark.timeout(240)


async def test_it_shows_the_state_and_how_to_connect(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    await window.open()

    await page.get_by_role("grid", name="Worker pools").get_by_text("management").wait_for()
    await expect(page.get_by_text("There is no backup yet")).to_be_visible()
    await expect(page.get_by_text(server.values["PUBLISHABLE_KEY"]).first).to_be_visible()
    await expect(window.page.get_by_text("Loading")).to_have_count(0)
    await window.screenshot("home")
    await page.get_by_role("tab", name="Python").click()
    await expect(page.get_by_role("region", name="Python: Code")).to_contain_text("create_client")
    await window.check_accessibility()
    await window.check_narrow()
    await page.reload()

    await expect(page.get_by_role("region", name="Python: Code")).to_be_visible()  # the tab is in the address


async def test_the_last_hour_is_drawn_for_all_pools_or_one(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    for _ in range(3):
        assert server.get("/rest/v1/nothing_of_this_name")[0] == 404
    await window.open()
    requests = page.get_by_role("img", name="Requests a minute: ")
    await expect(requests.locator("canvas")).to_be_visible()
    await expect(page.get_by_role("img", name="Response times: p99 up to").locator("canvas")).to_be_visible()
    await requests.hover()
    await expect(page.get_by_role("list").filter(has_text="p99")).to_be_visible()
    await requests.scroll_into_view_if_needed()
    await window.screenshot("home-hour")

    await page.get_by_role("button", name="Pool: All pools").click()
    await page.get_by_role("menuitem", name="rest", exact=True).click()
    await expect(page.get_by_role("img", name=re.compile("Requests a minute: [1-9]"))).to_be_visible()
    await expect(page).to_have_url(re.compile("pool=rest"))
    await window.check_accessibility()
    await window.check_narrow()
    await page.reload()
    await expect(page.get_by_role("button", name="Pool: rest")).to_be_visible()  # it is in the address


async def test_a_finding_of_the_advisors_is_fixed_from_here(
    window: DashboardWindow, server: Platform
) -> None:
    page = window.page
    (server.data.parent / "supabase").mkdir(exist_ok=True)  # else there is no folder for migrations
    server.psql("create table public.open_rows (id int primary key)")
    await window.open()
    row = page.get_by_role("grid", name="Advice").get_by_role("row", name="public.open_rows")
    await row.first.focus()
    await page.keyboard.press("Enter")
    panel = page.get_by_role("dialog")
    await expect(panel).to_contain_text("open_rows")
    await expect(panel.get_by_role("region", name="SQL of the fix")).to_contain_text(
        "enable row level security"
    )
    await window.screenshot("home-finding")
    await window.check_accessibility()
    await panel.get_by_label("Name of the migration").fill("protect_open_rows")
    await panel.get_by_role("button", name="Apply as a migration").click()

    await expect(page.get_by_text("Applied and saved as")).to_be_visible()
    await expect(row.filter(has_text="without row level security")).to_have_count(0)
    [file] = server.data.parent.glob("**/migrations/*_protect_open_rows.sql")
    assert "enable row level security" in file.read_text()


async def test_a_finding_is_dismissed_from_here(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    server.psql(f'create table public."{_HOSTILE}" (id int primary key)')
    await window.open()
    row = page.get_by_role("grid", name="Advice").get_by_role("row").filter(has_text=_HOSTILE)
    await row.first.click()
    panel = page.get_by_role("dialog")
    await panel.get_by_label("Reason").fill("It is meant so")
    await panel.get_by_role("button", name="Dismiss", exact=True).click()

    await expect(row.filter(has_text="without row level security")).to_have_count(0)
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_reader_sees_figures_and_findings_without_actions(browser: Browser, server: Platform) -> None:
    server.psql("create table if not exists public.read_only_rows (id int primary key)")
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        page = window.page
        await window.open()
        await expect(page.get_by_role("img", name="Requests a minute: ").locator("canvas")).to_be_visible()
        await (
            page.get_by_role("grid", name="Advice")
            .get_by_role("row")
            .filter(has_text="read_only_rows")
            .first.click()
        )
        await page.get_by_role("dialog").get_by_text("Why it matters").wait_for()

        await expect(page.get_by_role("button", name="Apply as a migration")).to_have_count(0)
        await expect(page.get_by_label("Reason")).to_have_count(0)


async def test_continuous_backup_that_is_off_says_how_to_switch_it_on(window: DashboardWindow) -> None:
    page = window.page
    await window.open("backups/continuous")

    commands = page.get_by_role("region", name="Commands that switch it on")
    await expect(commands).to_contain_text("HEADWATER_BACKUP_CONTINUOUS=true")
    await window.check_accessibility()
    await page.get_by_role("tab", name="Backups").click()
    await expect(page.get_by_text("No backups yet")).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
