"""The example of examples/offline in two windows: writes without a network, a conflict, a right that is taken away."""

import asyncio
import contextlib
import http.server
import json
import random
import shutil
import subprocess
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import deno
import httpx
import pytest
from playwright.async_api import Browser, Page

from tests.browser.outbox_trial import LOG, Cuts, OutboxTrial
from tests.browser.windows import PASSWORD
from tests.node_packages import install_packages
from tests.platform import Platform, platform

EXAMPLE = Path(__file__).parents[2] / "examples" / "offline"
LIST = "11111111-0000-4000-8000-000000000001"
pytestmark = [pytest.mark.node, pytest.mark.timeout(1200)]


def _value(running: Platform, query: str) -> str:
    done = running.command("psql", "-At", "-c", query)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture(scope="module")
def running(chromium_program: str) -> Iterator[Platform]:
    """A platform with the tables of the example, two members of one list, and an item."""
    del chromium_program
    with platform() as one:
        done = one.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(EXAMPLE / "schema.sql"))
        assert done.returncode == 0, done.stderr
        one.psql(LOG)
        one.wait_for_catalog("list_items")
        yield one


@pytest.fixture(scope="module")
def site(running: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page of the example at an origin of its own, built by the platform's Deno."""
    install_packages(EXAMPLE)
    folder = tmp_path_factory.mktemp("offline") / "site"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(EXAMPLE / "node_modules")
    (folder / "config.json").write_text(json.dumps({"url": running.url, "key": running.values["ANON_KEY"]}))
    done = subprocess.run(
        [deno.find_deno_bin(), "bundle", "--quiet", "--platform", "browser", "-o", "dist/app.js", "app.mjs"],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    handler = partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Member:
    """A user of the list in a window of their own."""

    def __init__(self, id: str, email: str, page: Page) -> None:
        self.id, self.email, self.page = id, email, page

    async def titles(self) -> list[str]:
        """Return the titles that the page shows, in its order."""
        return await self.page.evaluate(
            "[...document.querySelectorAll('#items [aria-label=title]')].map((one) => one.value)"
        )

    async def sees(self, *titles: str) -> None:
        """Wait until the page shows these titles."""
        shown: list[str] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(30):
                while shown != [*titles]:
                    shown = await self.titles()
                    await asyncio.sleep(0.05)
        assert shown == [*titles]

    async def waits_with(self, count: int) -> None:
        """Wait until so many writes are in the outbox."""
        await self.page.get_by_text(f"{count} waiting", exact=True).wait_for()

    async def add(self, title: str) -> None:
        await self.page.get_by_label("New").fill(title)
        await self.page.get_by_role("button", name="Add").click()

    async def rename(self, title: str, new: str) -> None:
        place = (await self.titles()).index(title)
        field = self.page.locator("#items [aria-label=title]").nth(place)
        await field.fill(new)
        await field.press("Enter")


@pytest.fixture
async def members(browser: Browser, running: Platform, site: str) -> AsyncIterator[tuple[Member, Member]]:
    """Two members of one new list, signed in, each in a window."""
    service = {"apikey": running.values["SERVICE_ROLE_KEY"]}
    async with contextlib.AsyncExitStack() as stack, httpx.AsyncClient(headers=service) as client:
        found = []
        for name in ("ada", "bob"):
            email = f"{name}-{uuid.uuid4().hex[:8]}@example.com"
            created = await client.post(
                f"{running.url}/auth/v1/admin/users",
                json={"email": email, "password": PASSWORD, "email_confirm": True},
            )
            context = await browser.new_context()
            stack.push_async_callback(context.close)
            found.append(Member(created.json()["id"], email, await context.new_page()))
        memberships = ", ".join(f"('{LIST}', '{member.id}')" for member in found)
        running.psql(
            f"truncate lists, write_log cascade; insert into lists values ('{LIST}', 'home');"
            f"insert into list_members values {memberships};"
            f"insert into list_items (id, list_id, title) values (gen_random_uuid(), '{LIST}', 'bread')"
        )
        for member in found:
            await member.page.goto(site)
            await member.page.get_by_label("Address").fill(member.email)
            await member.page.get_by_label("Password").fill(PASSWORD)
            await member.page.get_by_role("button", name="Sign in").click()
            await member.sees("bread")
        yield found[0], found[1]


async def test_writes_without_a_network_arrive_once_and_in_order(
    members: tuple[Member, Member], running: Platform
) -> None:
    ada, bob = members
    away = f"{running.url}/**"
    await ada.page.context.route(away, lambda route: route.abort())
    for title in ("cheese", "milk", "olives"):
        await ada.add(title)
    await ada.rename("milk", "oat milk")
    await ada.sees("bread", "cheese", "oat milk", "olives")
    await ada.waits_with(4)

    await ada.page.reload()  # the outbox outlives the page
    await ada.waits_with(4)
    await bob.sees("bread")
    await ada.page.context.unroute(away)
    await ada.page.reload()

    await bob.sees("bread", "cheese", "oat milk", "olives")
    await ada.waits_with(0)
    await ada.sees("bread", "cheese", "oat milk", "olives")
    assert _value(running, "select string_agg(title, ' ' order by n) from write_log") == (
        "bread cheese milk olives oat milk"
    )


async def test_a_second_window_says_what_it_cannot_keep_and_takes_the_outbox_over(
    members: tuple[Member, Member], running: Platform, site: str
) -> None:
    ada, bob = members
    away = f"{running.url}/rest/**"
    await ada.page.context.route(away, lambda route: route.abort())
    await ada.add("milk")
    await ada.waits_with(1)
    second = Member(ada.id, ada.email, await ada.page.context.new_page())
    await second.page.goto(site)
    await second.page.get_by_text("1 waiting in another window", exact=True).wait_for()

    await second.add("cheese")
    await second.page.get_by_text("not written, another window has the outbox").wait_for()
    await second.sees("bread")
    await ada.page.close()
    await second.waits_with(1)
    await second.add("olives")
    await second.waits_with(2)
    await ada.page.context.unroute(away)
    await second.page.reload()

    await bob.sees("bread", "milk", "olives")
    await second.waits_with(0)


_SLOW_LOCKS = """{
  const request = navigator.locks.request.bind(navigator.locks)
  navigator.locks.request = async (...all) => { await new Promise((done) => setTimeout(done, 300)); return request(...all) }
}"""
"""Script of a page: the outbox is ready some time after the page."""


@pytest.mark.parametrize("writes", [30, 500])
async def test_an_outbox_arrives_once_and_in_order_over_cuts_and_closed_tabs(
    members: tuple[Member, Member], running: Platform, site: str, writes: int
) -> None:
    ada, bob = members
    choice = random.Random(writes)
    cuts = Cuts(choice, odds=0.1)
    away = f"{running.url}/**"
    context = ada.page.context
    await context.route(away, cuts.handle)
    await context.add_init_script(_SLOW_LOCKS)

    async def reopen() -> Page:
        await ada.page.close()
        ada.page = await context.new_page()
        await ada.page.goto(site)
        await ada.page.locator("#app[data-ready=true]").wait_for(state="attached")
        return ada.page

    trial = OutboxTrial(ada.page, choice, cuts, reopen)
    await trial.run(writes)
    await trial.settle(600)

    expected = sorted(["bread", *(titles[-1] for titles in trial.written.values())])
    await ada.sees(*expected)
    await bob.sees(*expected)
    logs = _value(running, "select string_agg(title, ' ' order by n) from write_log group by item").split(
        "\n"
    )
    assert sorted(logs) == sorted(["bread", *(" ".join(titles) for titles in trial.written.values())])
    assert trial.rejected
    assert cuts.lost


async def test_the_second_of_two_changes_is_undone_and_both_are_shown(
    members: tuple[Member, Member], running: Platform
) -> None:
    ada, bob = members
    await ada.page.context.route(f"{running.url}/rest/**", lambda route: route.abort())
    await ada.rename("bread", "rye bread")
    await ada.waits_with(1)
    await bob.rename("bread", "white bread")
    await bob.waits_with(0)
    await ada.page.context.unroute(f"{running.url}/rest/**")

    await ada.page.get_by_text('before: "white bread", to do; yours: "rye bread"').wait_for()
    await ada.sees("white bread")
    await ada.waits_with(0)
    assert _value(running, "select title from list_items") == "white bread"

    await ada.page.get_by_role("button", name="Write mine").click()
    await bob.sees("rye bread")
    await ada.rename("rye bread", "toast")  # on top of the own write, which has a tag of its own
    await bob.sees("toast")
    await ada.waits_with(0)
    assert await ada.page.locator("#messages li").count() == 1


async def test_a_member_who_is_removed_loses_the_items(
    members: tuple[Member, Member], running: Platform
) -> None:
    ada, bob = members
    running.psql(f"delete from list_members where member = '{ada.id}'")
    await ada.sees()
    await bob.add("secret")
    await bob.sees("bread", "secret")

    assert "secret" not in await ada.page.content()
    await ada.add("mine")
    await ada.page.get_by_text("refused").wait_for()
    await ada.sees()
