"""Writes that an outbox makes while its network is cut at random and its tab is closed: what arrives, how often and in which order.

Each write has a text of its own, and a trigger logs what is stored, so that the log of an item must be its writes, each once and in
their order. Some writes break a check: none of them may be stored, and none may be left on the page.

A tab is closed when the outbox has stored its last write, which takes it some milliseconds. A write whose answer came while the shape was
cut off is not shown for a while, so lines are found by their item.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from playwright.async_api import Error, Page, Route

LOG = """
create table write_log (n bigint generated always as identity primary key, item uuid not null, title text not null);
create function log_write() returns trigger language plpgsql security definer set search_path = public as $$
begin insert into write_log (item, title) values (new.id, new.title); return null; end $$;
create trigger log_write after insert or update on list_items for each row execute function log_write();
"""
_ADD = """(title) => { document.getElementById('title').value = title; document.getElementById('add').requestSubmit() }"""
_RENAME = """([id, title]) => {
  const field = document.querySelector(`#items li[data-id='${id}'] [aria-label=title]`)
  field.value = title
  field.dispatchEvent(new Event('change'))
}"""
_LONGEST_S = 120
_ITEM = """(title) =>
  [...document.querySelectorAll('#items li')].find((one) => one.querySelector('[aria-label=title]').value === title)?.dataset.id"""
_HAS_LINE = "(id) => document.querySelector(`#items li[data-id='${id}']`) !== null"
_STORED = """() => new Promise((done) => {
  const opening = indexedDB.open('offline-transactions', 1)
  opening.onsuccess = () => {
    const reading = opening.result.transaction('transactions').objectStore('transactions').getAll()
    reading.onsuccess = () => { opening.result.close(); done(reading.result.map(JSON.parse)) }
  }
})"""
_HAS_STORED = (
    f"async (title) => (await ({_STORED})()).some((one) => one.mutations[0].modified.title === title)"
)
_IS_EMPTY = f"async () => (await ({_STORED})()).length === 0"


@dataclass
class Cuts:
    """The network of a page to the platform: away, or with a part of its requests and of their answers lost."""

    choice: random.Random
    is_away: bool = True
    odds: float = 0.0
    lost: int = 0

    async def handle(self, route: Route) -> None:
        """Carry a request, or lose it before or after the platform has it."""
        try:
            if not self.is_away and self.choice.random() >= self.odds:
                await route.continue_()
                return
            self.lost += 1
            if not self.is_away and "/rest/" in route.request.url:
                await route.fetch()
            await route.abort()
        except Error:
            pass  # the tab is gone


@dataclass
class OutboxTrial:
    """One trial. `reopen` closes the tab and opens another one, which returns when the page shows its items."""

    page: Page
    choice: random.Random
    cuts: Cuts
    reopen: Callable[[], Awaitable[Page]]
    written: dict[str, list[str]] = field(default_factory=dict)
    """The titles of each item, by its id, in the order of its writes."""
    rejected: list[str] = field(default_factory=list)
    closed: int = 0

    async def run(self, writes: int) -> None:
        """Make writes, of which a tenth breaks a check, and close the tab now and then."""
        for number in range(writes):
            await self._write(number, breaks_check=number == writes // 3 or self.choice.random() < 0.1)
            if self.choice.random() < 8 / writes:
                self.cuts.is_away = self.choice.random() < 0.5
            if self.choice.random() < 4 / writes or number == writes // 2:
                await self._close()

    async def _write(self, number: int, *, breaks_check: bool) -> None:
        title = f"w{number}"
        if breaks_check:
            self.rejected.append(title)
            await self.page.evaluate(_ADD, title + "x" * 200)
        elif not self.written or self.choice.random() < 0.2:
            await self._add(title)
        else:
            await self._rename(self.choice.choice(list(self.written)[-8:]), title)

    async def _add(self, title: str) -> None:
        await self.page.evaluate(_ADD, title)
        id = await (await self.page.wait_for_function(_ITEM, arg=title)).json_value()
        self.written[id] = [title]

    async def _rename(self, id: str, title: str) -> None:
        if not await self.page.evaluate(_HAS_LINE, id):
            self.cuts.is_away = False  # it was stored, and had not come back when the network was cut
            await self.page.wait_for_function(_HAS_LINE, arg=id, timeout=_LONGEST_S * 1000)
        await self.page.evaluate(_RENAME, [id, title])
        self.written[id].append(title)

    async def _close(self) -> None:
        self.cuts.is_away = True
        await self._add(f"closed{self.closed}")
        await self._until(_HAS_STORED, f"closed{self.closed}", _LONGEST_S)
        self.page = await self.reopen()
        self.closed += 1

    async def settle(self, longest_s: float) -> None:
        """Open the tab again with a network that loses nothing, and wait until everything is sent. Raises: TimeoutError."""
        await self._close()
        self.cuts.is_away, self.cuts.odds = False, 0.0
        self.page = await self.reopen()
        await self._until(_IS_EMPTY, "", longest_s)

    async def _until(self, question: str, argument: str, longest_s: float) -> None:
        """Ask an asynchronous question until the answer is yes; `wait_for_function` takes its promise for a yes."""
        async with asyncio.timeout(longest_s):
            while not await self.page.evaluate(question, argument):
                await asyncio.sleep(0.05)
