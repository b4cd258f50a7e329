"""Settings: values and their changes, keys after a confirmation, administrators, tokens, one's own account, the audit log, and
programs that are let in by OAuth."""

import hashlib
import json
from base64 import urlsafe_b64encode
from urllib.parse import parse_qs, urlencode, urlsplit

import aiohttp
import psycopg
import pytest
from playwright.async_api import Browser, Request, Route, expect

from tests.dashboard.administrators import PASSWORD, Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

_FORGET = "update headwater.administrator_sessions set confirmed_at = now() - interval '1 hour' where id = %s"
pytestmark = pytest.mark.timeout(240)
CALLBACK = "http://127.0.0.1:9/callback"
VERIFIER = "v" * 64
NAME = "An <b>agent</b>"


async def test_a_setting_is_found_changed_and_reset(window: DashboardWindow, owner: Administrator) -> None:
    page = window.page
    await window.open("settings/values")

    await page.get_by_label("Find a setting").fill("auth.enable_signup")
    await window.screenshot("settings")
    await page.get_by_role("row", name="auth.enable_signup").click()
    panel = page.get_by_role("dialog", name="auth.enable_signup")
    await panel.get_by_text("On", exact=True).click()
    await window.check_accessibility()
    await panel.get_by_role("button", name="Change", exact=True).click()
    await expect(page.get_by_text("auth.enable_signup is changed")).to_be_visible()
    await expect(page.get_by_role("row", name="auth.enable_signup")).to_contain_text("changed here")
    stored = owner.run("settings.list", prefix="auth.enable_signup")["settings"][0]
    await page.get_by_role("row", name="auth.enable_signup").click()
    await panel.get_by_role("button", name="Remove the change").click()

    await expect(page.get_by_role("row", name="auth.enable_signup")).to_contain_text("default")
    assert (stored["source"], stored["value"]) == ("database", False)


async def test_every_part_is_accessible_and_fits(window: DashboardWindow) -> None:
    for part, name in [
        ("values", "Values"), ("keys", "API keys"), ("administrators", "Administrators"), ("account", "Sessions"),
        ("audit", "Audit log"),
    ]:  # fmt: skip
        await window.open(f"settings/{part}")
        await window.page.get_by_role("grid", name=name).get_by_role("row").nth(1).wait_for()
        await window.screenshot(f"settings-{part}")
        await window.check_accessibility()
        await window.check_narrow()
    for part, heading in [("tokens", "No tokens yet"), ("certificate", "No certificate is ordered")]:
        await window.open(f"settings/{part}")
        await window.page.get_by_role("heading", name=heading).wait_for()
        await window.check_accessibility()


async def test_keys_are_shown_after_a_confirmation(browser: Browser, server: Platform) -> None:
    administrator = add_administrator(server, "owner")
    async with open_window(browser, server, administrator) as window:
        window.secrets = ()  # this is where an owner asks for them
        page = window.page
        await window.open("settings/keys")
        _forget_confirmation(server, administrator)
        await page.get_by_role("button", name="Show the keys").click()
        await (
            page.get_by_role("dialog", name="Confirm that it is you").get_by_label("Password").fill(PASSWORD)
        )
        await page.get_by_role("button", name="Confirm", exact=True).click()

        await expect(page.get_by_role("dialog")).to_contain_text(server.values["SECRET_KEY"])
        await page.keyboard.press("Escape")

        await page.get_by_role("button", name="Create a key").click()
        await page.get_by_role("dialog").get_by_label("Name").fill("worker-1")
        await page.get_by_role("dialog").get_by_role("button", name="Create a key").click()
        made = (await page.get_by_role("dialog", name="The new key").locator("code").inner_text()).strip()
        assert server.get("/rest/v1/", {"apikey": made})[0] == 200
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="Revoke: worker-1").click()
        await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        await expect(page.get_by_text("No key was created yet")).to_be_visible()


async def test_an_administrator_is_added_and_removed(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    await window.open("settings/administrators")

    await page.get_by_role("button", name="Add an administrator").click()
    await page.get_by_label("Email").fill("grace@example.com")
    await page.get_by_role("dialog").get_by_role("button", name="Add an administrator").click()
    await expect(page.get_by_role("dialog", name="A link for the first sign-in")).to_contain_text(
        f"{server.url}/_/sign-in#"
    )
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="More: grace@example.com").click()
    await page.get_by_role("menuitem", name="Remove", exact=True).click()
    remove = page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True)
    await expect(remove).to_be_disabled()
    await page.get_by_label("Type grace@example.com to confirm").fill("grace@example.com")
    await remove.click()

    await expect(page.get_by_role("row", name="grace@example.com")).to_have_count(0)


async def test_the_address_of_an_administrator_is_changed(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    page = window.page
    other = add_administrator(server, "developer")
    await window.open("settings/administrators")
    await page.get_by_role("button", name=f"More: {other.email}").click()
    await page.get_by_role("menuitem", name="Change", exact=True).click()
    dialog = page.get_by_role("dialog", name=other.email)
    await dialog.get_by_label("Email").fill(owner.email)
    await dialog.get_by_role("button", name="Change", exact=True).click()
    await expect(dialog.get_by_text(f"There is an administrator {owner.email}")).to_be_visible()
    await window.check_accessibility()
    new = f"new-{other.email}"
    await dialog.get_by_label("Email").fill(new)
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("row", name=new)).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    assert other.run("account.me")["name"] == new


async def test_a_reader_sees_no_action_that_would_be_refused(browser: Browser, server: Platform) -> None:
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        page = window.page
        await window.open("settings/administrators")
        await page.get_by_role("grid", name="Administrators").get_by_role("row").nth(1).wait_for()

        await expect(page.get_by_role("button", name="Add an administrator")).to_have_count(0)
        await expect(page.get_by_role("tab", name="Audit log")).to_have_count(0)
        await window.open("settings/values?open=auth.enable_signup")
        await expect(page.get_by_text("Your rights do not include changing it.")).to_be_visible()


def _forget_confirmation(server: Platform, administrator: Administrator) -> None:
    """Make the session of an administrator as old as if the sign-in had been an hour ago."""
    with psycopg.connect(server.login_url("headwater_management")) as connection:
        done = connection.execute(_FORGET, (administrator.run("account.me")["session_id"],))
        assert done.rowcount == 1


async def test_an_agent_signs_in_and_its_connection_is_ended(
    window: DashboardWindow, server: Platform
) -> None:
    page = window.page
    async with aiohttp.ClientSession() as session:
        document = await _document(session, f"{server.url}/mcp")
        registration = {"client_name": NAME, "redirect_uris": [CALLBACK]}
        async with session.post(document["registration_endpoint"], json=registration) as answer:
            client_id = (await answer.json())["client_id"]
        challenge = urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
        request = {
            "response_type": "code", "client_id": client_id, "redirect_uri": CALLBACK, "state": "s", "code_challenge": challenge,
            "code_challenge_method": "S256", "resource": f"{server.url}/mcp",
        }  # fmt: skip
        sent: list[str] = []

        async def take(route: Route, taken: Request) -> None:
            sent.append(taken.url)
            await route.fulfill(status=200, content_type="text/plain", body="back")

        await page.route(f"{CALLBACK}*", take)
        await page.goto(f"{document['authorization_endpoint']}?{urlencode(request)}")
        await expect(page.get_by_text(f"{NAME} asks to work on this platform as you.")).to_be_visible()
        await expect(page.get_by_text("a program on this machine (127.0.0.1:9)")).to_be_visible()
        await window.screenshot("connect")
        await window.check_accessibility()
        await window.check_narrow()
        await page.get_by_role("button", name="Allow").click()
        await page.wait_for_url(f"{CALLBACK}*")
        [values] = [parse_qs(urlsplit(url).query) for url in sent]
        form = {
            "grant_type": "authorization_code", "code": values["code"][0], "client_id": client_id,
            "redirect_uri": CALLBACK, "code_verifier": VERIFIER,
        }  # fmt: skip
        async with session.post(document["token_endpoint"], data=form) as answer:
            token = (await answer.json())["access_token"]
        before = await _lists_tools(session, server, token)

        await window.open("settings/tokens")
        await page.get_by_role("button", name=f"End the connection: {NAME}").click()
        await page.get_by_role("button", name="End the connection", exact=True).click()
        await expect(page.get_by_text("The connection is ended")).to_be_visible()
        after = await _lists_tools(session, server, token)

    assert (values["state"], before, after) == (["s"], 200, 401)


async def _document(session: aiohttp.ClientSession, url: str) -> dict[str, str]:
    """Find the metadata of the authorization server as a client does, from the refusal on."""
    async with session.post(url, json={}) as refused:
        challenge = refused.headers["www-authenticate"]
    async with session.get(challenge.partition('resource_metadata="')[2].partition('"')[0]) as answer:
        [issuer] = (await answer.json())["authorization_servers"]
    parts = urlsplit(issuer)
    well_known = parts._replace(path=f"/.well-known/oauth-authorization-server{parts.path}").geturl()
    async with session.get(well_known) as answer:
        document: dict[str, str] = json.loads(await answer.read())
    assert document["issuer"] == issuer
    return document


async def _lists_tools(session: aiohttp.ClientSession, server: Platform, token: str) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with session.post(
        f"{server.url}/mcp", json=body, headers={"Authorization": f"Bearer {token}"}
    ) as answer:
        return answer.status


async def test_a_role_limits_an_administrator_by_area_and_table(
    browser: Browser, window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    server.psql(
        "create table public.tickets (id int primary key); create table public.orders (id int primary key)"
    )
    page = window.page
    await page.emulate_media(reduced_motion="reduce")
    await window.open("settings/roles")
    await page.get_by_role("button", name="Add a role").click()
    form = page.get_by_role("dialog", name="Add a role")
    await form.get_by_role("textbox", name="Name").fill("support")
    await form.get_by_role("radio", name="users: change").check()
    await form.get_by_role("radio", name="catalog: –").press("ArrowRight")
    await form.get_by_role("radio", name="sql: read").check()
    await form.get_by_role("combobox", name="Add a table").fill("tickets")
    await page.get_by_role("option", name="public.tickets").click()
    await window.check_accessibility()
    await form.get_by_role("button", name="Save the role").click()
    await expect(form.get_by_role("alert")).to_contain_text("may have `none` in `sql` at most")
    await form.get_by_role("radio", name="sql: –").check()
    await form.get_by_role("button", name="Save the role").click()
    await expect(page.get_by_role("cell", name="public.tickets: read")).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("settings-roles")

    limited = add_administrator(server, "developer")
    await window.open("settings/administrators")
    await page.get_by_role("button", name=f"More: {limited.email}").click()
    await page.get_by_role("menuitem", name="Change").click()
    await page.get_by_role("button", name="Developer Rights").click()
    await page.get_by_role("option", name="support").click()
    await page.get_by_role("dialog").get_by_role("button", name="Change").click()
    await expect(page.get_by_role("row", name=limited.email)).to_contain_text("support")

    async with open_window(browser, server, limited) as other:
        await other.open("tables/public/tickets")
        await expect(other.page.get_by_role("grid")).to_be_visible()
        await other.open("tables/public/orders")
        await expect(other.page.get_by_text("Your rights do not include this").first).to_be_visible()
        await other.open("users")
        await expect(other.page.get_by_role("button", name="Create a user").first).to_be_visible()
