"""The link of a first start: it signs the first owner in to the dashboard, once, within `management.first_link_lifetime`.

A platform whose database was just created has no administrator. The supervisor adds one in the worker layer, as `headwater admin
add` does, and the terminal shows the link. It is never written into a file.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import quote

FIRST_OWNER = "owner@localhost"
"""Address of the first owner; mail is never sent to it."""


def sign_in_address(studio_url: str, secret: str) -> str:
    """Return the address that signs in. What stands after # stays in the browser."""
    return f"{studio_url}sign-in#{quote(secret, safe='')}"


async def add_first_owner(environment: Mapping[str, str]) -> str | None:
    """Add the first owner; return the secret of the link, or None if there is one already or the operation failed."""
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "workers", "operate", "administrators.add",
        env={**inherited, **environment},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C reaches the supervisor alone, which cancels this task
    )  # fmt: skip
    try:
        arguments = json.dumps({"email": FIRST_OWNER, "rights": "owner"}).encode()
        output, _ = await process.communicate(arguments)
    finally:
        with suppress(ProcessLookupError):
            if process.returncode is None:
                process.kill()
    return str(json.loads(output)["link"]) if process.returncode == 0 else None
