"""Run work in a forked process that kills itself (SIGKILL) at a chosen statement to the database, or at a chosen line."""

import asyncio
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

_ASKS = ("execute", "fetch", "fetchrow", "fetchval")


def run_until_killed(work: Callable[[], Awaitable[object]], prepare: Callable[[], None]) -> bool:
    """Run work in a process of its own; return whether it was killed by SIGKILL. A failure of the work fails the test."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of the test's process: the child uses none of them
        child = os.fork()
    if child == 0:
        code = 1
        try:
            prepare()
            asyncio.run(work())  # type: ignore[arg-type]
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the work failed instead of being killed"
    return False


def die() -> None:
    """Kill this process; nothing of it runs any more."""
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()


def kill_before_statement(number: int) -> Callable[[], None]:
    """Return what has a process die before the statement of this number that it sends, counted from 1, transactions included."""

    def prepare() -> None:
        sent = 0

        def counting(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def ask(self: asyncpg.Connection, query: str, *arguments: Any, **options: Any) -> Any:
                nonlocal sent
                sent += 1
                if sent == number:
                    die()
                return await original(self, query, *arguments, **options)

            return ask

        for name in _ASKS:
            setattr(asyncpg.Connection, name, counting(getattr(asyncpg.Connection, name)))

    return prepare


def kill_at_line(beginning: str) -> Callable[[str], None]:
    """Return a `tell` that dies at the line that begins so."""

    def tell(line: str) -> None:
        if line.startswith(beginning):
            die()

    return tell
