"""What a page of another origin can do with the session of an administrator who visits it: nothing.

The page stands on another port of the same host, which is another origin of the same site: `SameSite=Strict` sends the cookie, so only
the checks of origin and the page's policy are in its way.
"""

import json
from collections.abc import AsyncIterator

import httpx
import pytest
from aiohttp import web
from playwright.async_api import Browser, Page, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import open_window
from tests.platform import Platform, platform

pytestmark = pytest.mark.timeout(240)

_CREATE = "/management/v1/operations/tokens.create"
_FETCH = """async ([url, body, type]) => {
  try {
    const answer = await fetch(url, {method: 'POST', credentials: 'include', mode: type === 'text/plain' ? 'no-cors' : 'cors',
                                     headers: {'content-type': type}, body});
    return answer.type === 'opaque' ? 'opaque' : answer.status;
  } catch (error) { return 'refused'; }
}"""


@pytest.fixture
async def other_origin() -> AsyncIterator[str]:
    """The address of an empty page of somebody else."""

    async def empty(_: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><title>x</title>", content_type="text/html")

    application = web.Application()
    application.router.add_get("/", empty)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


@pytest.fixture
async def evil(
    browser: Browser, server: Platform, owner: Administrator, other_origin: str
) -> AsyncIterator[Page]:
    """That page, in a browser in which an owner is signed in."""
    async with open_window(browser, server, owner) as window:
        await window.page.goto(other_origin)
        yield window.page
        window.faults.clear()  # what the browser refused here is what the tests want


def _tokens(owner: Administrator) -> list[str]:
    return [token["name"] for token in owner.run("tokens.list")]


async def test_it_is_not_shown_in_a_frame(evil: Page, server: Platform) -> None:
    await evil.evaluate(
        "(url) => { const frame = document.createElement('iframe'); frame.src = url; document.body.append(frame);"
        " return new Promise((done) => frame.onload = done); }",
        f"{server.url}/_/",
    )

    [frame] = [frame for frame in evil.frames if frame is not evil.main_frame]
    await expect(frame.get_by_text("Headwater")).to_have_count(0)
    assert not frame.url.startswith(server.url)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
async def test_its_requests_change_nothing(
    evil: Page, server: Platform, owner: Administrator, content_type: str
) -> None:
    body = json.dumps({"name": f"by {content_type}", "rights": "owner"})

    outcome = await evil.evaluate(_FETCH, [server.url + _CREATE, body, content_type])

    assert outcome in ("refused", "opaque")
    assert f"by {content_type}" not in _tokens(owner)


async def test_its_forms_change_nothing(evil: Page, server: Platform, owner: Administrator) -> None:
    async with evil.expect_navigation():
        await evil.evaluate(
            """(url) => {
              const form = document.createElement('form');
              form.method = 'post'; form.enctype = 'text/plain'; form.action = url;
              const field = document.createElement('input');
              field.name = '{"name": "by form", "rights": "owner", "x": "'; field.value = '"}';
              form.append(field); document.body.append(form); form.submit();
            }""",
            server.url + _CREATE,
        )

    assert "cross_site" in await evil.locator("body").inner_text()
    assert "by form" not in _tokens(owner)


async def test_other_rights_hold_at_once_and_a_removed_one_is_out(
    server: Platform, owner: Administrator
) -> None:
    other = add_administrator(server, "developer")
    [row] = [row for row in owner.run("administrators.list") if row["email"] == other.email]
    address = f"{server.url}/management/v1/operations"
    headers = {"origin": server.url, "cookie": f"headwater_session={other.cookie}"}
    confirm = httpx.post(
        f"{server.url}/management/v1/confirm",
        json={"password": "a long enough password"},
        headers={"origin": server.url, "cookie": f"headwater_session={owner.cookie}"},
        timeout=60,
    )
    assert confirm.status_code == 200, confirm.text

    async with httpx.AsyncClient(headers=headers, timeout=60) as client:
        before = await client.post(f"{address}/snippets.save", json={"name": "mine", "sql": "select 1"})
        owner.run("administrators.change", id=row["id"], rights="reader")
        after = await client.post(f"{address}/snippets.save", json={"name": "mine", "sql": "select 2"})
        owner.run("administrators.remove", id=row["id"])
        gone = await client.post(f"{address}/account.me", json={})

    assert before.status_code != 403
    assert after.status_code == 403
    assert gone.status_code == 401


def test_it_is_switched_off_as_a_whole(built_dashboard: None) -> None:
    with platform(environment={"HEADWATER_DASHBOARD_ENABLED": "false"}) as running:
        page = httpx.get(f"{running.url}/_/", timeout=60)

    assert page.status_code == 501
    assert "dashboard" in page.text
    assert "STUDIO_URL" not in running.values
