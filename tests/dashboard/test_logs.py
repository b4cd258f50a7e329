"""Logs: filters in the address, older pages, following, the histogram, a request through all parts, hostile lines."""

import time

import httpx
import pytest
from playwright.async_api import expect

from tests.dashboard.administrators import Administrator
from tests.dashboard.window import TIMEOUT_MS, DashboardWindow
from tests.platform import Platform

HOSTILE = "<img src=x onerror=\"console.error('run')\"><script>console.error('run')</script>"
_FUNCTION = f"""
Deno.serve(() => {{
  console.error({HOSTILE!r});
  return new Response("done");
}});
"""
_MANY = 160
"""Requests that fail: each leaves two lines, together more than a page of the search."""
pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def requests(server: Platform, owner: Administrator) -> dict[str, str]:
    """Request ids by name, of requests whose lines are stored."""
    owner.run("functions.deploy", name="loud", files=[{"path": "index.ts", "text": _FUNCTION}])
    ids = {"function": _ask(server, "/functions/v1/loud", 200)}
    for _ in range(_MANY):
        ids["missing"] = _ask(server, "/rest/v1/there_is_none", 404)
    _wait_for(owner, ids["function"], {"RequestServed", "RequestAnswered", "function log"})
    _wait_for(owner, ids["missing"], {"RequestServed", "RequestAnswered"})
    return ids


async def test_filters_stand_in_the_address(window: DashboardWindow, requests: dict[str, str]) -> None:
    page = window.page
    await window.open("logs")
    lines = page.get_by_role("grid", name="Log lines")
    await lines.get_by_text("GET /rest/v1/there_is_none").first.wait_for()

    await page.get_by_label("Words of the line").fill("img onerror")
    await expect(lines.get_by_role("row")).to_have_count(2)  # the head, and the line
    await expect(lines.get_by_text(HOSTILE)).to_be_visible()
    await page.reload()
    await expect(lines.get_by_text(HOSTILE)).to_be_visible()
    await page.get_by_role("button", name="Clear filters").click()
    await lines.get_by_text("GET /rest/v1/there_is_none").first.wait_for()
    await page.get_by_label("Status", exact=True).fill("4")
    await expect(page.get_by_text("A status such as 404, or a class such as 5xx")).to_be_visible()
    await page.get_by_label("Status", exact=True).fill("404")
    await page.get_by_role("button", name="Level").click()
    await page.get_by_role("option", name="Errors", exact=True).click()
    await page.get_by_role("heading", name="No lines match").wait_for()

    assert "status=404" in page.url
    assert "level=error" in page.url
    await window.check_accessibility()


async def test_older_pages_come_on_scrolling(window: DashboardWindow, requests: dict[str, str]) -> None:
    page = window.page
    await window.open("logs?area=rest&status=404")
    lines = page.get_by_role("grid", name="Log lines")
    await expect(page.get_by_text("200 lines are listed")).to_be_visible()
    await expect(page.get_by_role("img", name="Lines by time")).to_have_attribute(
        "aria-label", f"Lines by time: {2 * _MANY} lines, 0 errors, 0 warnings"
    )

    await window.screenshot("logs")
    await lines.get_by_role("row").nth(1).focus()
    await page.keyboard.press("End")

    await expect(page.get_by_text(f"{2 * _MANY} lines are listed")).to_be_visible()


async def test_a_line_leads_to_its_request_through_all_parts(
    window: DashboardWindow, requests: dict[str, str]
) -> None:
    page = window.page
    await window.open("logs?area=functions")
    line = page.get_by_role("row").filter(has_text="<img src=x")
    await line.focus()
    await page.keyboard.press("Enter")
    panel = page.get_by_role("dialog", name="function log")
    await expect(panel.get_by_text(HOSTILE)).to_be_visible()
    await window.screenshot("logs-line")
    await window.check_accessibility()
    await panel.get_by_role("link", name="This request through all parts").click()

    await page.get_by_role("heading", level=1, name=f"Request {requests['function']}").wait_for()
    parts = page.get_by_role("grid", name="Log lines").get_by_role("row")
    await expect(parts.nth(1)).to_contain_text("Gateway")
    await expect(parts.nth(1)).to_contain_text("POST /functions/v1/loud")
    await expect(parts.filter(has_text="Pool")).not_to_have_count(0)
    await expect(parts.filter(has_text=HOSTILE)).to_contain_text("Function")
    await window.screenshot("logs-request")
    await window.check_accessibility()
    await window.check_narrow()


async def test_an_unknown_request_is_explained(window: DashboardWindow) -> None:
    await window.open("logs/request/none-1")

    await window.page.get_by_role("heading", name="No line has this request id").wait_for()
    await window.check_accessibility()


async def test_new_lines_are_followed_and_paused(
    window: DashboardWindow, server: Platform, requests: dict[str, str]
) -> None:
    page = window.page
    await window.open("logs?status=404&area=rest&text=while")
    await page.get_by_role("heading", name="No lines match").wait_for()
    async with page.expect_response(lambda response: response.url.endswith("/logs.tail")):
        await page.get_by_role("button", name="Follow").click()

    _ask(server, "/rest/v1/while_following", 404)
    line = page.get_by_role("grid", name="Log lines").get_by_text("/rest/v1/while_following")
    await line.wait_for()
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("Paused", exact=True)).to_be_visible()
    _ask(server, "/rest/v1/while_paused", 404)
    await page.get_by_role("button", name="Go on").click()

    await page.get_by_role("grid", name="Log lines").get_by_text("/rest/v1/while_paused").wait_for()
    await expect(line).to_have_count(1)


async def test_lines_are_counted_by_sql(window: DashboardWindow, requests: dict[str, str]) -> None:
    page = window.page
    await window.open("logs?area=rest")
    await page.get_by_role("link", name="SQL", exact=True).nth(1).click()
    await page.get_by_label("Example", exact=True).click()
    await page.get_by_role("option", name="Requests by client address").click()
    await page.get_by_role("button", name="Run", exact=True).click()
    rows = page.get_by_role("grid", name="Rows of the query").get_by_role("row")
    await expect(rows.nth(1)).to_contain_text("127.0.0.1")
    await window.screenshot("logs-sql")
    await window.check_accessibility()
    await window.check_narrow()
    await page.reload()  # the query stands in the address
    await expect(rows.nth(1)).to_contain_text("127.0.0.1")

    await window.open("logs/sql?sql=delete from lines")

    await expect(page.get_by_role("alert")).to_contain_text("only SELECT from the table `lines` may run")


async def test_it_fits_and_is_accessible(window: DashboardWindow, requests: dict[str, str]) -> None:
    page = window.page
    await window.open("logs?follow=1&area=rest")
    await page.get_by_role("grid", name="Log lines").get_by_text("there_is_none").first.wait_for()
    await page.get_by_role("button", name="More filters").click()
    await page.get_by_label("Request id").fill(requests["missing"])
    await expect(page.get_by_role("grid", name="Log lines").get_by_role("row")).to_have_count(3)

    await window.check_accessibility()
    await window.check_narrow()


def _ask(server: Platform, path: str, status: int) -> str:
    """Send a request as an application does, and return its id."""
    key = server.values["SECRET_KEY"]
    answer = httpx.request(
        "POST" if "functions" in path else "GET",
        server.url + path,
        headers={"apikey": key, "authorization": f"Bearer {server.values['SERVICE_ROLE_KEY']}"},
        timeout=60,
    )
    assert answer.status_code == status, answer.text
    return answer.headers["x-request-id"]


def _wait_for(owner: Administrator, request: str, kinds: set[str]) -> None:
    """Wait until the lines of a request are stored."""
    until = time.monotonic() + TIMEOUT_MS / 1_000
    cursor = owner.run("logs.tail")["next"]
    while not kinds <= (stored := {line["kind"] for line in owner.run("logs.request", id=request)["lines"]}):
        assert time.monotonic() < until, f"only {stored} of {request} are stored"
        cursor = owner.run("logs.tail", cursor=cursor, wait_s=5)["next"]
