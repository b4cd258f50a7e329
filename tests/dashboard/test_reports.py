"""The page Reports: saved queries as numbers, charts and tables over a time range, in files that all administrators share."""

import json
import re

import pytest
from playwright.async_api import Browser, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)

XSS = "<img src=x onerror=console.error('xss')>"
_SNIPPETS = {
    "Orders": "select count(*) as orders, 'costs $2' as note from public.orders where at >= $1 and at < $2",
    "Orders by hour": "select date_trunc('hour', at) as hour, count(*) as orders from public.orders where at >= $1 group by 1 order by 1",
    "Names": "select name, size from public.orders order by size limit 5",
    "Broken": "select nothing from public.orders",
}


@pytest.fixture(scope="module")
def snippets(server: Platform, owner: Administrator) -> None:
    """Orders of the last two hours and of three days ago, and snippets about them."""
    (server.data.parent / "supabase").mkdir(exist_ok=True)
    server.psql(
        "create table public.orders (at timestamptz, name text, size int);"
        "insert into public.orders select now() - interval '1 minute' * n, 'order ' || n, n from generate_series(1, 90) n;"
        f"insert into public.orders values (now() - interval '3 days', $x${XSS}$x$, 0);"
        "alter table public.orders enable row level security"
    )
    for name, text in _SNIPPETS.items():
        owner.run("snippets.save", name=name, text=text)


async def test_saved_queries_are_shown_over_a_range_to_all_administrators(
    browser: Browser, window: DashboardWindow, server: Platform, owner: Administrator, snippets: None
) -> None:
    page = window.page
    await page.emulate_media(reduced_motion="reduce")
    await window.open("reports")
    await page.get_by_role("button", name="New report").click()
    await page.get_by_role("textbox", name="Name").fill("Sales")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Add a query").click()
    form = page.get_by_role("dialog", name="Add a query")
    await form.get_by_role("combobox", name="Saved query").fill("Orders")
    await page.get_by_role("option", name="Orders", exact=True).click()
    await form.get_by_role("button", name="Lines Shown as").click()
    await page.get_by_role("option", name="Number").click()
    await page.keyboard.press("Tab")
    await form.get_by_role("button", name="Add to the report").click()

    await expect(page.locator(".reports-number")).to_contain_text("90")
    report = owner.run("reports.read", name="Sales")["report"]
    tiles = [
        *report["tiles"],
        {"snippet": "Orders by hour", "shown_as": "bar"},
        {"snippet": "Orders by hour", "shown_as": "line", "title": "The line", "x": "hour", "y": "orders"},
        {"snippet": "Names", "shown_as": "table", "is_wide": True},
        {"snippet": "Broken", "shown_as": "number"},
    ]
    owner.run("reports.save", name="Sales", report={"tiles": tiles, "range_s": 86_400}, replaces=True)
    reader = add_administrator(server, "reader")
    async with open_window(browser, server, reader) as other:
        await other.open("reports/Sales")
        await expect(other.page.locator(".reports-number")).to_contain_text("90")
        await expect(
            other.page.get_by_role("img", name=re.compile("orders by hour: [23] values"))
        ).to_have_count(2)
        await expect(other.page.get_by_role("gridcell", name=XSS)).to_be_visible()
        await expect(other.page.get_by_role("alert")).to_contain_text('column "nothing" does not exist')
        await expect(other.page.get_by_role("button", name="Add a query")).to_have_count(0)
        await other.page.get_by_role("button", name="Last day Time range").click()
        await other.page.get_by_role("option", name="Last 7 days").click()
        await expect(other.page.locator(".reports-number")).to_contain_text("91")
        await expect(other.page).to_have_url(f"{server.url}/_/reports/Sales?range=604800")

    await page.reload()
    await expect(page.get_by_role("img", name="orders by hour")).to_have_count(2)
    await page.get_by_role("button", name="Actions of Broken").click()
    await page.get_by_role("menuitem", name="Remove from the report").click()
    await expect(page.get_by_role("heading", name="Broken")).to_have_count(0)
    server.psql("insert into public.orders values (now(), 'new', 1)")
    await page.get_by_role("button", name="Refresh now").click()
    await expect(page.locator(".reports-number")).to_contain_text("91")
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("reports")
    file = server.data.parent / "supabase" / "reports" / "Sales.json"
    assert [tile["snippet"] for tile in json.loads(file.read_text())["tiles"]] == [
        "Orders", "Orders by hour", "Orders by hour", "Names",
    ]  # fmt: skip
