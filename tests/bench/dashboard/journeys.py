"""Journeys of daily work on the measured project: each is done by a user with a mouse, then by one with a keyboard alone.

A journey begins with the page that it is about open, and ends when its result is seen, in the page and in the database or at the client.
"""

import asyncio
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

import httpx
from playwright.async_api import expect

from tests.bench.dashboard.project import SNIPPETS
from tests.conformance import confirming
from tests.dashboard.administrators import Administrator
from tests.dashboard.counting_user import CountingUser, KeyboardUser
from tests.platform import Platform, headwater
from tests.scripted_model import scripted_model

_numbers = count(1)
"""Names that no journey had before."""
_BULK_ROWS = 20
_IMPORT = "id,name,amount\n1,one,1.5\n2,two,\nthree,three,3\n4,four,4\n5,five,5\n"


@dataclass(slots=True)
class Workplace:
    """What a journey is done on. `notes`: what is worth knowing beside its time; `failed_requests`: of clients whose key was rotated."""

    server: Platform
    owner: Administrator
    notes: list[str] = field(default_factory=list)
    failed_requests: int | None = None

    def value(self, sql: str) -> str:
        """Return the only value of a query."""
        return self.server.psql(sql).splitlines()[2].strip()


Journey = Callable[[CountingUser, Workplace], Awaitable[None]]


async def bulk_edit(user: CountingUser, place: Workplace) -> None:
    """Change one column of 20 rows that were selected."""
    page, shelf = user.window.page, f"Shelf n{next(_numbers)}"
    await user.window.open("tables/public/stock")
    marks = page.locator(".tables-row .tables-mark .checkbox-box")
    await marks.first.wait_for()
    if isinstance(user, KeyboardUser):
        await user.reach(page.locator(".tables-row [data-column=product]").first)
        await user.press_keys("Space", *["Shift+ArrowDown"] * (_BULK_ROWS - 1))
    else:
        await user.click(marks.first)
        await user.click(marks.nth(_BULK_ROWS - 1), modifiers=["Shift"])
    await user.press(f"Edit {_BULK_ROWS} rows")
    dialog = page.get_by_role("dialog")
    await user.type(dialog.get_by_role("combobox", name="Column"), "place")
    await user.click(page.get_by_role("option", name="place"))
    await user.type(dialog.get_by_label("place", exact=True), shelf)
    await user.click(dialog.get_by_role("button", name=f"Change {_BULK_ROWS} rows"))
    await expect(page.locator('[data-column="place"]', has_text=shelf)).to_have_count(_BULK_ROWS)
    assert place.value(f"select count(*) from stock where place = '{shelf}'") == str(_BULK_ROWS)


async def import_rows(user: CountingUser, place: Workplace) -> None:
    """Import a file of five rows of which one is bad, and read the number of rows afterwards."""
    page = user.window.page
    place.server.psql("truncate public.imported")
    await user.window.open("tables/public/imported")
    await user.press("Import")
    form = page.get_by_role("dialog", name="Import into imported")
    await user.choose_file(form.get_by_label("CSV, JSON or NDJSON file"), "imported.csv", _IMPORT.encode())
    await user.click(form.get_by_role("button", name="Preview"))
    await expect(form).to_contain_text("4 of 5 rows can be stored")
    await user.click(form.get_by_text("Store the good rows"))
    await user.click(form.get_by_role("button", name="Import 4 rows"))
    await expect(page.get_by_text("4 rows", exact=True)).to_be_visible()
    assert place.value("select count(*) from imported") == "4"


async def set_up_provider(user: CountingUser, place: Workplace) -> None:
    """Set up a provider of sign-in in one form, and test it against a provider that runs on this machine."""
    page, client = user.window.page, f"client-{next(_numbers)}"
    with confirming.provider() as url:
        await user.window.open("auth?provider=keycloak")
        await user.press("Set up in one form")
        form = page.get_by_role("dialog", name="Set up: Keycloak")
        await user.type(form.get_by_label("Client ID"), client)
        await user.type(form.get_by_label("Secret", exact=True), "a secret of the provider")
        await user.type(form.get_by_label("URL", exact=True), url)
        await user.click(form.get_by_role("button", name="Save"))
        await expect(form.get_by_role("button", name="Test")).to_be_enabled()
        await user.click(form.get_by_role("button", name="Test"))
        await form.locator(".note").last.wait_for()
        text = await form.locator(".note").last.inner_text()
        assert await form.locator(".note-good").count() == 1, text


async def rotate_key(user: CountingUser, place: Workplace) -> None:
    """Replace the key of a client that sends requests all the time: create a key, hand it over, revoke the old one."""
    page, number = user.window.page, next(_numbers)
    old, new = f"app-{number}", f"app-{number}-next"
    first = place.owner.run("keys.create", name=old, kind="publishable")["key"]
    async with _running_client(place.server, first) as client:
        await user.window.open("settings/keys")
        await user.press("Create a key")
        dialog = page.get_by_role("dialog")
        await user.type(dialog.get_by_label("Name"), new)
        await user.click(dialog.get_by_role("button", name="Create a key"))
        shown = page.get_by_role("dialog", name="The new key")
        client.key = (await shown.locator("code").inner_text()).strip()
        await user.press_keys("Escape")
        # A client has taken the new key over when it was answered with it; then the old one is revoked.
        await client.answered_with_new_key()
        await user.press(f"Revoke: {old}")
        await user.click(page.get_by_role("dialog").get_by_role("button", name="Revoke"))
        await expect(page.get_by_role("button", name=f"Revoke: {old}", exact=True)).to_have_count(0)
        assert (await client.status_with(first)) == 401
    place.notes.append(f"{client.answered} requests meanwhile, {client.failed} failed")
    place.failed_requests = (place.failed_requests or 0) + client.failed
    assert client.failed == 0


@dataclass(slots=True)
class _Client:
    """A client that reads rows without a pause."""

    http: httpx.AsyncClient
    key: str
    answered: int = 0
    failed: int = 0
    last_key: str = ""

    async def run(self) -> None:
        while True:
            key = self.key
            if await self.status_with(key) == 200:
                self.answered, self.last_key = self.answered + 1, key
            else:
                self.failed += 1

    async def status_with(self, key: str) -> int:
        answer = await self.http.get("/rest/v1/products?select=id&limit=1", headers={"apikey": key})
        return answer.status_code

    async def answered_with_new_key(self) -> None:
        async with asyncio.timeout(30):
            while self.last_key != self.key:
                await asyncio.sleep(0.01)  # the other task sends requests meanwhile


@asynccontextmanager
async def _running_client(server: Platform, key: str) -> AsyncIterator[_Client]:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        client = _Client(http, key)
        task = asyncio.create_task(client.run())
        try:
            yield client
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def make_report(user: CountingUser, place: Workplace) -> None:
    """Make a report with a saved query as a number."""
    page, name = user.window.page, f"Report {next(_numbers)}"
    await user.window.open("reports")
    await user.press("New report")
    await user.type(page.get_by_role("textbox", name="Name"), name)
    await user.press_keys("Enter")
    await user.press("Add a query")
    form = page.get_by_role("dialog", name="Add a query")
    await user.type(form.get_by_role("combobox", name="Saved query"), next(iter(SNIPPETS)))
    await user.click(page.get_by_role("option", name=next(iter(SNIPPETS)), exact=True))
    await user.click(form.get_by_role("button", name="Lines Shown as"))
    await user.click(page.get_by_role("option", name="Number"))
    await user.click(form.get_by_role("button", name="Add to the report"))
    await expect(page.locator(".reports-number")).to_contain_text("orders")
    assert len(place.owner.run("reports.read", name=name)["report"]["tiles"]) == 1


async def ask_assistant(user: CountingUser, place: Workplace) -> None:
    """Set up the assistant with a model of this machine, and ask a question that it reads the schema for."""
    page = user.window.page
    with scripted_model() as model:
        await user.window.open("assistant")
        await user.press("Settings")
        form = page.get_by_role("dialog", name="Assistant")
        if not await form.get_by_role("switch", name="Enabled").is_checked():
            await user.click(form.get_by_text("Enabled", exact=True))
        await user.type(form.get_by_role("textbox", name="URL"), model.url)
        await user.type(form.get_by_role("textbox", name="Model"), "m-1")
        await user.type(form.get_by_label(re.compile("^api key$", re.IGNORECASE)), f"key-{next(_numbers)}")
        await user.click(form.get_by_role("button", name="Save"))
        await expect(form).to_have_count(0)
        model.calls("describe_table", {"table": "orders"})
        model.says("Orders belong to ", "profiles.")
        await user.type(page.get_by_role("textbox", name="Question"), "To whom do orders belong?")
        await user.press("Send")
        log = page.get_by_role("log", name="Conversation")
        await expect(log).to_contain_text("Orders belong to profiles.")
        assert len(model.requests) == 2


async def restore_backup(user: CountingUser, place: Workplace) -> None:
    """Make a backup, look at what a restore would give, and restore it by the command that the page shows."""
    page = user.window.page
    await user.window.open("backups")
    before = {backup["name"] for backup in place.owner.run("backups.list")["backups"]}
    await user.press("Back up now")
    await expect(page.get_by_text("is saved")).to_be_visible()
    [name] = {backup["name"] for backup in place.owner.run("backups.list")["backups"]} - before
    await user.click(page.get_by_role("grid", name="All backups").get_by_role("row").filter(has_text=name))
    panel = page.get_by_role("dialog", name=f"Backup {name}")
    await user.click(panel.get_by_role("button", name="Dry run"))
    await expect(panel.get_by_text("can be restored here")).to_be_visible()
    command = await panel.get_by_role("region", name="Command that restores it").locator("code").inner_text()
    place.server.psql("delete from public.stock where id = 200")
    begun = asyncio.get_running_loop().time()
    done = await asyncio.to_thread(headwater, *shlex.split(command.strip())[1:])
    assert done.returncode == 0, done.stderr
    place.notes.append(f"the command took {asyncio.get_running_loop().time() - begun:.1f} s of it")
    assert place.value("select count(*) from stock where id = 200") == "1"


JOURNEYS: dict[str, Journey] = {
    "bulk edit of 20 rows": bulk_edit,
    "import with a bad row, count": import_rows,
    "provider with its test": set_up_provider,
    "key rotated under a client": rotate_key,
    "report": make_report,
    "assistant": ask_assistant,
    "restore, dry run first": restore_backup,
}
