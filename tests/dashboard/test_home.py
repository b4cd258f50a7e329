"""The first page: the state of the platform, what needs attention, and how applications connect."""

import pytest
from playwright.async_api import expect

from tests.dashboard.window import DashboardWindow
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)


async def test_it_shows_the_state_and_how_to_connect(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    await window.open()

    await page.get_by_role("grid", name="Pools").get_by_text("management").wait_for()
    await expect(page.get_by_text("There is no backup yet")).to_be_visible()
    await expect(page.get_by_text(server.values["PUBLISHABLE_KEY"]).first).to_be_visible()
    await window.screenshot("home")
    await page.get_by_role("tab", name="Python").click()
    await expect(page.get_by_role("region", name="Python: Code")).to_contain_text("create_client")
    await window.check_accessibility()
    await window.check_narrow()
    await page.reload()

    await expect(page.get_by_role("region", name="Python: Code")).to_be_visible()  # the tab is in the address


async def test_a_finding_of_the_advisors_opens_with_its_fix(
    window: DashboardWindow, server: Platform
) -> None:
    page = window.page
    server.psql("create table public.open_rows (id int primary key)")
    await window.open()

    await page.get_by_role("grid", name="Advice").get_by_role("row", name="open_rows").first.click()
    await expect(page.get_by_role("dialog")).to_contain_text("open_rows")
    await expect(page.get_by_role("dialog").get_by_role("region", name="SQL that mends it")).to_be_visible()

    await window.check_accessibility()
