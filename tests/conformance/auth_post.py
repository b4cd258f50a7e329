"""What a platform sends, and where its links lead: emails and text messages in the mail catcher, landings of a browser."""

import asyncio
import random
import re
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from tests.platform import Platform

_PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class CaughtEmail:
    """An email, with the code and the link in it; empty where there is none."""

    subject: str
    code: str
    link: str


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a browser landed: the whole address, the target, the query and the fragment."""

    url: str
    target: str
    query: dict[str, str]
    fragment: dict[str, str]


def phone_number() -> str:
    """Give a number that nobody has."""
    return f"+4915{random.randrange(10**9, 10**10)}"


async def email_to(platform: Platform, address: str) -> CaughtEmail:
    """Wait for the next email to an address that nobody opened, and open it."""
    deadline = time.monotonic() + _PATIENCE_S
    while not (found := _unread(platform, address)):
        assert time.monotonic() < deadline, f"no email came to {address}"
        await asyncio.sleep(0.02)
    email = _catcher(platform, f"message/{found[-1]['ID']}")
    code = re.search(r"\b\d{6}\b", email["Text"])
    link = re.search(r"\bhttp\S+/verify\?\S+", email["Text"])
    return CaughtEmail(email["Subject"], code[0] if code else "", link[0] if link else "")


async def code_to(platform: Platform, phone: str) -> str:
    """Wait for the next message to a number, and give its code."""
    return (await email_to(platform, f"{phone.removeprefix('+')}@sms.localhost")).code


def land(url: str) -> Landing:
    """Follow an address as a browser does, until it leads to another place than this machine's services."""
    with httpx.Client() as browser:  # it keeps cookies
        while urlsplit(url).hostname == "127.0.0.1":
            answer = browser.get(url)
            assert answer.status_code in (302, 303), f"{url} answered {answer.status_code} {answer.text}"
            url = answer.headers["location"]
    parts = urlsplit(url)
    target = f"{parts.scheme}://{parts.netloc}{parts.path}"
    return Landing(url, target, dict(parse_qsl(parts.query)), dict(parse_qsl(parts.fragment)))


def _unread(platform: Platform, address: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _catcher(platform, "search", query=f'to:"{address}" is:unread')["messages"]
    return found


def _catcher(platform: Platform, path: str, **query: str) -> Any:
    answer = httpx.get(f"{platform.values['MAILPIT_URL']}/api/v1/{path}", params=query)
    assert answer.status_code == 200, path
    return answer.json()
