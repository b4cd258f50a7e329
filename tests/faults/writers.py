"""Callers of REST, functions, queues and mail: each sends one request after another and never repeats one."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import aiohttp

from tests.faults.ledger import Caller, Ledger
from tests.platform import Platform
from tests.platforms.conftest import token

ROWS, READS, QUEUE, MAIL, FUNCTIONS = "rows", "reads", "queue", "mail", "functions"
"""Kinds of operations, as the table names them."""
PER_WRITER = 1_000_000
"""Ids of one writer begin at a multiple of this: so its order can be read from its ids."""
_PAUSE_S = 0.05
_REFUSED_S = 0.1
"""Pause after what did not succeed, short enough to see when it does again."""
_MAIL_S, _QUEUE_S, _FUNCTION_S = 0.5, 0.1, 0.05


def numbers(writer: int) -> Iterator[int]:
    """Return the ids of one writer, ascending."""
    return itertools.count(writer * PER_WRITER)


async def write_rows(
    running_platform: Platform, session: aiohttp.ClientSession, ledger: Ledger, writer: int
) -> None:
    """Insert rows one after another: writers with even numbers as the service, others as a user of their own."""
    user: UUID | None = uuid4() if writer % 2 else None
    key = token(running_platform, sub=str(user)) if user else running_platform.values["SERVICE_ROLE_KEY"]
    caller = Caller(
        session, ledger, running_platform.url, key, running_platform.values["ANON_KEY"] if user else key
    )
    for id in numbers(writer):
        row: dict[str, Any] = {"id": id, "by": str(user) if user else None}
        done = await caller.send(ROWS, id, "POST", "/rest/v1/marks", json=row)
        await asyncio.sleep(_PAUSE_S if done is not None else _REFUSED_S)


async def read_rows(
    running_platform: Platform, session: aiohttp.ClientSession, ledger: Ledger, reader: int
) -> None:
    """Read one row again and again."""
    caller = Caller(session, ledger, running_platform.url, running_platform.values["ANON_KEY"])
    for id in numbers(reader):
        done = await caller.send(READS, id, "GET", "/rest/v1/marks?select=id&limit=1")
        await asyncio.sleep(_PAUSE_S if done is not None else _REFUSED_S)


async def fill_queue(
    running_platform: Platform, session: aiohttp.ClientSession, ledger: Ledger, writer: int
) -> None:
    """Send messages into a queue, and take some out of it now and then."""
    caller = Caller(session, ledger, running_platform.url, running_platform.values["SERVICE_ROLE_KEY"])
    takes = Ledger()
    taker = Caller(session, takes, running_platform.url, running_platform.values["SERVICE_ROLE_KEY"])
    for id in numbers(writer):
        await caller.send(QUEUE, id, "POST", "/rest/v1/rpc/send_mark", json={"mark": id})
        if id % 10 == 0:
            await taker.send(QUEUE, id, "POST", "/rest/v1/rpc/take_marks", json={})
        await asyncio.sleep(_QUEUE_S)


async def ask_for_mail(
    running_platform: Platform, session: aiohttp.ClientSession, ledger: Ledger, writer: int
) -> None:
    """Ask for a sign-in link, each time for an address of its own."""
    caller = Caller(session, ledger, running_platform.url, running_platform.values["ANON_KEY"])
    for id in numbers(writer):
        wish = {"email": address(id), "create_user": True}
        await caller.send(MAIL, id, "POST", "/auth/v1/otp", json=wish)
        await asyncio.sleep(_MAIL_S)


async def call_functions(
    running_platform: Platform, session: aiohttp.ClientSession, ledger: Ledger, writer: int
) -> None:
    """Call a function that returns what it is sent."""
    caller = Caller(session, ledger, running_platform.url, running_platform.values["ANON_KEY"])
    for id in numbers(writer):
        body = await caller.send(FUNCTIONS, id, "POST", "/functions/v1/echo", json={"id": id})
        if body is not None and json.loads(body) != {"id": id}:
            ledger.strange.append(f"function: {body[:200]!r} for {id}")
        await asyncio.sleep(_FUNCTION_S if body is not None else _REFUSED_S)


def address(id: int) -> str:
    """Return the mail address that stands for an id."""
    return f"mark-{id}@example.com"


def id_of(address: str) -> int:
    """Return the id for which an address stands."""
    return int(address.removeprefix("mark-").partition("@")[0])
