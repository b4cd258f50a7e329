"""What the clients of a campaign did and were answered: the one list from which the table is counted.

An answer has one of three meanings. ACKNOWLEDGED: it must be stored, once. REFUSED: it must not be stored (503 and the 4xx say that
nothing was done). OPEN: the client cannot know (504 with `"outcome": "unknown"`, a broken connection, no answer in time, 500);
stored or not are both right, twice is wrong.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

import aiohttp

PATIENCE_S = 60.0
"""How long a client of a campaign waits for an answer."""
CUT = (aiohttp.ClientError, ConnectionError, OSError)


class Meaning(Enum):
    """What an answer says about what was asked for."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `kind` is what the table calls it, `id` is what was written or read, times are monotonic."""

    kind: str
    id: int
    began: float
    ended: float
    meaning: Meaning
    answer: str
    """What the client saw: a status, or what happened instead of one."""


@dataclass(slots=True)
class Ledger:
    """The operations of all clients, in the order in which they ended."""

    operations: list[Operation] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """Answers that must not be under any fault, and wrong contents."""

    def note(self, kind: str, id: int, began: float, meaning: Meaning, answer: str) -> None:
        """Add an operation that ends now."""
        self.operations.append(Operation(kind, id, began, time.monotonic(), meaning, answer))

    def of(self, kind: str) -> list[Operation]:
        """Return the operations of one kind."""
        return [operation for operation in self.operations if operation.kind == kind]

    def ids(self, kind: str, meaning: Meaning) -> set[int]:
        """Return the ids of one kind whose answer means this."""
        return {each.id for each in self.operations if each.kind == kind and each.meaning is meaning}

    def last_acknowledged(self, kind: str) -> float:
        """Return when an operation of this kind last succeeded."""
        ended = (each.ended for each in reversed(self.operations) if _succeeded(each, kind))
        return next(ended, float("-inf"))


def _succeeded(operation: Operation, kind: str) -> bool:
    return operation.kind == kind and operation.meaning is Meaning.ACKNOWLEDGED


def meaning_of(status: int, body: bytes) -> tuple[Meaning, str]:
    """Return what a status means, and how the table shows it."""
    if 200 <= status < 300:
        return Meaning.ACKNOWLEDGED, str(status)
    if status == 503 or 400 <= status < 500:
        return Meaning.REFUSED, str(status)
    told = " unknown" if b'"outcome"' in body else ""
    return Meaning.OPEN, f"{status}{told}"


class Caller:
    """Sends requests one after another with one key, and notes each in the ledger."""

    def __init__(
        self, session: aiohttp.ClientSession, ledger: Ledger, url: str, bearer: str, key: str = ""
    ) -> None:
        self._session, self._ledger, self._url = session, ledger, url
        self._headers = {"apikey": key or bearer, "Authorization": f"Bearer {bearer}"}

    async def send(
        self,
        kind: str,
        id: int,
        method: str,
        path: str,
        *,
        headers: dict[str, str] | None = None,
        **more: object,
    ) -> bytes | None:
        """Send a request, note what came of it; return the body if it succeeded."""
        began = time.monotonic()
        try:
            async with (
                asyncio.timeout(PATIENCE_S),
                self._session.request(
                    method,
                    self._url + path,
                    headers={**self._headers, **(headers or {})},
                    **more,  # type: ignore[arg-type]  # as the library takes them
                ) as answer,
            ):
                body = await answer.read()
        except asyncio.CancelledError:
            self._note(kind, id, began, Meaning.OPEN, "not waited for")
            raise
        except TimeoutError:
            return self._note(kind, id, began, Meaning.OPEN, f"none in {PATIENCE_S:.0f} s")
        except aiohttp.ClientConnectorError:
            return self._note(kind, id, began, Meaning.REFUSED, "no connection")
        except CUT:
            return self._note(kind, id, began, Meaning.OPEN, "cut off")
        meaning, shown = meaning_of(answer.status, body)
        self._ledger.note(kind, id, began, meaning, shown)
        if 400 <= answer.status < 500:
            self._ledger.strange.append(f"{method} {path}: {answer.status} {body[:300]!r}")
        return body if meaning is Meaning.ACKNOWLEDGED else None

    def _note(self, kind: str, id: int, began: float, meaning: Meaning, answer: str) -> None:
        self._ledger.note(kind, id, began, meaning, answer)


def answers_seen(operations: Iterable[Operation]) -> Counter[str]:
    """Count what clients saw."""
    return Counter(operation.answer for operation in operations)
