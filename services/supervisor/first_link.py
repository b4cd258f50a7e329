"""The link of a first start: it signs the first owner in to the dashboard, once, within `management.first_link_lifetime`.

A platform whose database was just created has no administrator. The supervisor adds one in the worker layer, as `headwater admin
add` does, and the terminal shows the link. It is never written into a file.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from services.supervisor.processes.forks import ForkFailed, ForkServer, read_to_end
from services.supervisor.processes.plan import ChildPlan, ReadySignal

FIRST_OWNER = "owner@localhost"
"""Address of the first owner; mail is never sent to it."""


def sign_in_address(studio_url: str, secret: str) -> str:
    """Return the address that signs in. What stands after # stays in the browser."""
    return f"{studio_url}sign-in#{quote(secret, safe='')}"


async def add_first_owner(
    environment: Mapping[str, str], forks: ForkServer | None = None, folder: Path = Path("/")
) -> str | None:
    """Add the first owner; return the secret of the link, or None if there is one already or the operation failed.

    `forks` has loaded the code of the operation; without it a new interpreter does so, which takes a second.
    """
    arguments = json.dumps({"email": FIRST_OWNER, "rights": "owner"})
    argv = (sys.executable, "-P", "-m", "workers", "operate", "administrators.add", arguments)
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    child = ChildPlan("first-owner", argv, {**inherited, **environment}, ReadySignal.EXIT)
    output = await _forked(child, forks, folder) if forks is not None else None
    return _link_in(output if output is not None else await _executed(child))


async def _forked(child: ChildPlan, forks: ForkServer, folder: Path) -> bytes | None:
    """Run the operation in a fork; return what it printed, or None if there is no fork to be had."""
    output, its_output = os.pipe()
    try:
        process = await forks.fork(child, folder, its_output, {})
    except ForkFailed:
        os.close(output)
        return None
    finally:
        os.close(its_output)
    try:
        return await read_to_end(output)
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)  # has exited, unless this task was cancelled


async def _executed(child: ChildPlan) -> bytes:
    """Run the operation by its command line; return what it printed."""
    process = await asyncio.create_subprocess_exec(
        *child.argv,
        env=dict(child.environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C reaches the supervisor alone, which cancels this task
    )
    try:
        output, _ = await process.communicate()
    finally:
        with suppress(ProcessLookupError):
            if process.returncode is None:
                process.kill()
    return output


def _link_in(output: bytes) -> str | None:
    """Return the link in the operation's answer, its last line; None if that is an error (pure)."""
    try:
        return str(json.loads(output.strip().rpartition(b"\n")[2])["link"])
    except (ValueError, TypeError, KeyError):
        return None
