"""Emails in the mail catcher of a platform. One is sent behind the answer to its request, so the first one is waited for."""

import time
from typing import Any

import httpx

_EMAIL_S = 30


def emails_to(catcher_url: str, address: str) -> list[dict[str, Any]]:
    """Return the emails to an address, the newest first, once there is one; none after half a minute."""
    deadline = time.monotonic() + _EMAIL_S
    while True:
        answer = httpx.get(f"{catcher_url}/api/v1/search", params={"query": f'to:"{address}"'})
        found: list[dict[str, Any]] = answer.json()["messages"]
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)
