"""The page Realtime: row changes as anon and as a user, broadcasts, presence, private channels, published tables, shapes, state."""

import json
import time

import httpx
import jwt
import pytest
from playwright.async_api import Browser, Page, expect

from tests.dashboard.administrators import PASSWORD, Administrator, add_administrator
from tests.dashboard.callers import ask_as
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)

XSS = "<img src=x onerror=console.error('xss')>"
_TABLES = """
create table public.notes (id bigint primary key, body text not null, user_id uuid);
alter table public.notes enable row level security;
create policy own on public.notes for select to authenticated using (user_id = (select auth.uid()));
create table public.news (id bigint primary key, body text not null);
grant select on public.news to anon;
create table public.quiet (id bigint primary key);
alter publication supabase_realtime add table public.notes, public.news;
"""


@pytest.fixture(scope="module")
def user(server: Platform, owner: Administrator) -> str:
    """The tables of this module, and a user."""
    (server.data.parent / "supabase").mkdir(exist_ok=True)
    server.psql(_TABLES)
    return str(owner.run("users.create", email="ada@example.com", password=PASSWORD)["user"]["id"])


async def _join(window: DashboardWindow, search: str) -> Page:
    await window.open(f"realtime/channel?{search}")
    await window.page.get_by_role("button", name="Join", exact=True).click()
    await expect(window.page.get_by_text("joined", exact=True)).to_be_visible()
    return window.page


async def test_changes_arrive_as_the_caller_may_see_them(
    window: DashboardWindow, server: Platform, user: str
) -> None:
    page = await _join(window, "topic=all-news&table=news")
    await expect(page.get_by_text("Subscribed to PostgreSQL")).to_be_visible()
    server.psql(f"insert into news values (1, $x${XSS}$x$)")
    events = page.get_by_role("list", name="Events")
    await expect(events.get_by_text("INSERT public.news")).to_be_visible()
    await events.get_by_text("new:").click()
    await expect(events.get_by_text(XSS)).to_be_visible()
    await page.get_by_role("button", name="Kind").click()
    await page.get_by_role("option", name="broadcasts").click()
    await expect(page.get_by_role("heading", name="Nothing has arrived yet")).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()


async def test_a_user_sees_changes_of_rows_that_are_his(
    window: DashboardWindow, server: Platform, user: str
) -> None:
    page = window.page
    await window.open("realtime/channel?topic=mine&table=notes")
    await ask_as(page, "ada@example.com")
    await page.get_by_role("button", name="Join", exact=True).click()
    await expect(page.get_by_text("Subscribed to PostgreSQL")).to_be_visible()

    server.psql(
        f"insert into notes values (1, 'of nobody', gen_random_uuid()); insert into notes values (2, 'of Ada', '{user}')"
    )

    events = page.get_by_role("list", name="Events")
    await expect(events.get_by_text("INSERT public.notes")).to_have_count(1)
    await events.get_by_text("new:").click()
    await expect(events.get_by_text('"of Ada"')).to_be_visible()
    await window.screenshot("realtime")


async def test_broadcasts_and_presence_between_two_windows(
    browser: Browser, window: DashboardWindow, server: Platform, owner: Administrator, user: str
) -> None:
    first = await _join(window, "topic=two")
    async with open_window(browser, server, owner) as other:
        second = await _join(other, "topic=two")
        await second.get_by_label("Event", exact=True).fill("greeting")
        await second.get_by_role("textbox", name="Payload, as JSON").click()
        await second.keyboard.press("Control+a")
        await second.keyboard.insert_text('{"text": "from the other"')
        await second.get_by_role("button", name="Send", exact=True).click()
        await expect(second.get_by_role("alert")).to_contain_text("not a JSON object")
        await second.keyboard.press("Tab")
        await second.get_by_role("textbox", name="Payload, as JSON").click()
        await second.keyboard.press("Control+a")
        await second.keyboard.insert_text('{"text": "from the other"}')
        await second.get_by_role("button", name="Send", exact=True).click()
        await expect(first.get_by_role("list", name="Events").get_by_text("greeting")).to_be_visible()
        await expect(first.get_by_text('"from the other"')).to_be_visible()

        await second.get_by_role("button", name="Be present").click()
        await expect(first.get_by_text("1 present")).to_be_visible()
        await second.get_by_role("button", name="Be absent").click()
        await expect(first.get_by_text("Nobody is present")).to_be_visible()

        await first.get_by_role("button", name="Pause").click()
        await second.get_by_role("button", name="Send", exact=True).click()
        await expect(first.get_by_text("1 waits")).to_be_visible()
        await first.get_by_role("button", name="Go on").click()
        await expect(first.get_by_role("list", name="Events").get_by_text("greeting")).to_have_count(2)
        await window.check_accessibility()


async def test_a_private_channel_refuses_with_its_reason(window: DashboardWindow, user: str) -> None:
    page = window.page
    await window.open("realtime/channel?topic=secret&private=yes")
    await page.get_by_role("button", name="Join", exact=True).click()

    await expect(page.get_by_text("refused", exact=True)).to_be_visible()
    await expect(page.get_by_text("Unauthorized", exact=False).first).to_be_visible()
    await expect(page.get_by_text("Check the policies of realtime.messages")).to_be_visible()
    await window.check_accessibility()


async def test_presence_that_no_policy_allows_is_refused_with_its_reason(
    window: DashboardWindow, server: Platform, user: str
) -> None:
    server.psql(
        "create policy listen on realtime.messages for select to anon using (realtime.topic() = 'listen-only')"
    )
    page = await _join(window, "topic=listen-only&private=yes")
    await page.get_by_role("button", name="Be present").click()

    await expect(page.get_by_role("alert")).to_contain_text("needs a policy on realtime.messages for insert")
    await expect(page.get_by_text("Nobody is present")).to_be_visible()
    await window.check_accessibility()


async def test_hostile_broadcasts_are_text(window: DashboardWindow, user: str) -> None:
    page = await _join(window, "topic=hostile")
    await page.get_by_label("Event", exact=True).fill(XSS)
    await page.get_by_role("textbox", name="Payload, as JSON").click()
    await page.keyboard.press("Control+a")
    await page.keyboard.insert_text(json.dumps({"text": XSS, XSS: 1}))
    await page.get_by_role("button", name="Send", exact=True).click()

    events = page.get_by_role("list", name="Events")
    await expect(events.get_by_text(XSS, exact=True)).to_be_visible()
    await expect(events.get_by_text(f"{XSS}:", exact=True)).to_be_visible()
    await window.check_narrow()


async def test_a_table_is_published_by_a_migration(
    window: DashboardWindow, server: Platform, user: str
) -> None:
    page = window.page
    await page.emulate_media(reduced_motion="reduce")  # axe-core sees no colours between two states
    await window.open("realtime/tables")
    row = page.get_by_role("row", name="quiet")
    await row.get_by_role("button", name="Actions on quiet").click()
    await page.get_by_role("menuitem", name="Publish", exact=True).click()
    dialog = page.get_by_role("dialog", name="Publish changes of quiet")
    await expect(dialog.get_by_role("region", name="SQL of the change")).to_contain_text("add table")
    await dialog.get_by_role("button", name="Apply and save").click()
    await expect(row.get_by_text("Published")).to_be_visible()
    saved = [
        path.read_text()
        for path in (server.data.parent / "supabase" / "migrations").glob("*publish_quiet.sql")
    ]
    assert len(saved) == 1

    await row.get_by_role("button", name="Actions on quiet").click()
    await page.get_by_role("menuitem", name="Send whole old rows").click()
    await expect(page.get_by_role("dialog").get_by_text("replica identity full")).to_be_visible()
    await page.get_by_role("button", name="Send whole old rows").click()

    await expect(row.get_by_text("whole row")).to_be_visible()
    await row.get_by_text("quiet").click()
    await expect(page.get_by_role("dialog").get_by_text("Row security is off")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("realtime-tables")


async def test_shapes_are_shown_with_their_callers_and_one_is_ended(
    browser: Browser, window: DashboardWindow, server: Platform, user: str
) -> None:
    claims = {"sub": user, "role": "authenticated", "exp": int(time.time()) + 600}
    headers = {
        "apikey": server.values["ANON_KEY"],
        "authorization": f"Bearer {jwt.encode(claims, server.values['JWT_SECRET'])}",
    }
    address, shown = f"{server.url}/sync/v1/shape", XSS.replace("'", "''")
    query = {"table": "notes", "where": f"body <> '{shown}'", "offset": "-1"}
    async with httpx.AsyncClient(headers=headers) as client:
        first = await client.get(address, params=query)
        assert first.status_code == 200
        page = window.page
        await page.emulate_media(reduced_motion="reduce")
        await window.open("realtime/shapes")
        row = page.get_by_role("row", name="notes").filter(has_text=user)
        await expect(row.get_by_text(shown)).to_be_visible()
        await window.check_accessibility()
        await window.check_narrow()
        await window.screenshot("realtime-shapes")
        await row.get_by_text("notes", exact=True).click()
        dialog = page.get_by_role("dialog", name="notes")
        await expect(dialog.get_by_text("callers with the same values of these claims")).to_be_visible()
        await window.check_accessibility()
        await dialog.get_by_role("button", name="End this shape").click()
        question = page.get_by_role("dialog", name="End the shape of notes?")
        await expect(question.get_by_text("read all rows again")).to_be_visible()
        await question.get_by_role("button", name="End this shape").click()
        await expect(row).to_have_count(0)

        again = await client.get(
            address, params={**query, "offset": "0_0", "handle": first.headers["electric-handle"]}
        )
        assert again.status_code == 409
    async with open_window(browser, server, add_administrator(server, "reader")) as other:
        await other.open("realtime/shapes")
        await other.page.get_by_role("row", name="notes").get_by_text("notes", exact=True).click()
        await expect(other.page.get_by_role("dialog").get_by_text("Handle")).to_be_visible()
        await expect(other.page.get_by_role("button", name="End this shape")).to_have_count(0)


async def test_the_state_of_the_service(window: DashboardWindow, user: str) -> None:
    await window.open("realtime/state")
    page = window.page
    await expect(page.get_by_text("Sockets", exact=True)).to_be_visible()
    await expect(page.get_by_text("running", exact=True)).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("realtime-state")


async def test_a_reader_publishes_nothing(browser: Browser, server: Platform, user: str) -> None:
    reader = add_administrator(server, "reader")
    async with open_window(browser, server, reader) as window:
        await window.open("realtime/tables")
        await window.page.get_by_role("row", name="notes").wait_for()

        await expect(window.page.get_by_role("button", name="Actions on notes")).to_have_count(0)
