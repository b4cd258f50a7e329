"""One POST to a provider's interface: a form out, a JSON object back, every fault a `DeliveryFailed`."""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp
import orjson

from schemas.keys.secret import Secret
from workers.auth.delivery.failures import Cause, DeliveryFailed, spoken

TIMEOUT_S = 10.0
"""Seconds that a provider has to answer."""

_LONGEST = 256 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """What a provider answered; `body` is empty when it is not a JSON object."""

    status: int
    body: Mapping[str, object] = field(repr=False)

    @property
    def is_ok(self) -> bool:
        """Tell whether the status is of success."""
        return 200 <= self.status < 300

    def text(self, key: str) -> str:
        """Give a text or number of the body; empty when there is none."""
        value = self.body.get(key)
        return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""

    def objects(self, key: str) -> list[Mapping[str, object]]:
        """Give the objects of a list of the body."""
        value = self.body.get(key)
        return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def revealed(secret: Secret | None) -> str:
    """Give the text of a credential; the settings refuse a provider without its own."""
    return secret.reveal() if secret is not None else ""


def basic(user: str, password: Secret | None) -> dict[str, str]:
    """Give the header that logs in. Source: RFC 7617."""
    pair = base64.b64encode(f"{user}:{revealed(password)}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


async def post_form(
    session: aiohttp.ClientSession,
    provider: str,
    url: str,
    form: Mapping[str, str],
    *,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Reply:
    """Send a form. Redirects are not followed: they would carry the credentials elsewhere. Raises: DeliveryFailed."""
    try:
        async with (
            asyncio.timeout(timeout_s),
            session.post(url, data=form, headers=headers, allow_redirects=False) as answer,
        ):
            raw = await _bounded(answer.content)
    except TimeoutError:
        text = f"{provider} did not answer within {timeout_s:g} s"
        raise DeliveryFailed(Cause.TIMEOUT, text, is_permanent=False) from None
    except (aiohttp.ClientError, OSError):
        raise DeliveryFailed(Cause.UNREACHABLE, f"{provider} cannot be reached", is_permanent=False) from None
    return Reply(answer.status, _object(raw))


def refused(
    provider: str, reply: Reply, code: str = "", said: str = "", *, may_pass: bool = False
) -> DeliveryFailed:
    """Make the failure of a provider that said no: its code, and what of its words may be told. `may_pass`: try later."""
    words = spoken(said)
    shown = code if code.isascii() and code.isdecimal() and len(code) < 10 else ""
    parts = ", ".join(
        part for part in (f"HTTP {reply.status}", f"code {shown}" if shown else "", words) if part
    )
    is_temporary = may_pass or reply.status == 429 or reply.status >= 500
    cause = Cause.LOGIN if reply.status == 401 else Cause.REFUSED
    return DeliveryFailed(
        cause,
        f"{provider} refused the message ({parts})",
        is_permanent=not is_temporary,
        code=int(shown or reply.status),
    )


async def _bounded(stream: aiohttp.StreamReader) -> bytes:
    parts: list[bytes] = []
    room = _LONGEST
    while room > 0 and (part := await stream.read(room)):
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


def _object(raw: bytes) -> Mapping[str, object]:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
