"""Work that several requests want in the same iteration of the event loop, done at once."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Start = Callable[[Coroutine[Any, Any, None]], object]
"""Starts a task that is kept until it ends."""
Work = Callable[[Sequence[Item]], Awaitable[Sequence[Result | BaseException]]]
"""Does the work of several; returns the result or the error of each. An error that it raises is that of all."""


class SimultaneousWork(Generic[Item, Result]):
    """Collects items by a key, at most `most` in a group."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[Hashable, list[tuple[Item, asyncio.Future[Result]]]] = {}

    async def do(self, key: Hashable, item: Item, start: Start, work: Work[Item, Result]) -> Result:
        """Do the work for an item with what else has the key; it runs in the context of the first. Raises: as `work`."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()
        group = self._waiting.get(key)
        if group is None or len(group) >= self._most:
            group = self._waiting[key] = []
            loop.call_soon(self._begin, key, group, start, work)
        group.append((item, done))
        return await done

    def _begin(
        self,
        key: Hashable,
        group: list[tuple[Item, asyncio.Future[Result]]],
        start: Start,
        work: Work[Item, Result],
    ) -> None:
        if self._waiting.get(key) is group:
            del self._waiting[key]
        start(_run(group, work))


async def _run(group: Sequence[tuple[Item, asyncio.Future[Result]]], work: Work[Item, Result]) -> None:
    """Do the work and settle all futures, whatever happens."""
    results: Sequence[Result | BaseException] | None = None
    failure: BaseException = asyncio.CancelledError()  # the process ends
    try:
        results = await work([item for item, _ in group])
    except Exception as error:  # each caller gets it
        failure = error
    finally:
        for number, (_, done) in enumerate(group):
            if done.done():  # its caller was cancelled
                continue
            result = failure if results is None else results[number]
            if isinstance(result, asyncio.CancelledError):
                done.cancel()
            elif isinstance(result, BaseException):
                done.set_exception(result)
            else:
                done.set_result(result)
