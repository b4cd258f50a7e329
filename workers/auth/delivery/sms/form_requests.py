"""One POST to an SMS provider: a form out, a JSON object back, every failure as a `DeliveryFailed`."""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp
import orjson

from schemas.keys.secret import Secret
from workers.auth.delivery.failures import DeliveryCause, DeliveryFailed, safe_words

TIMEOUT_S = 10.0
"""Time limit for an answer."""

_LONGEST = 256 * 1024


@dataclass(frozen=True, slots=True)
class SmsReply:
    """An answer of a provider; `body` is empty if it is not a JSON object."""

    status: int
    body: Mapping[str, object] = field(repr=False)

    @property
    def is_ok(self) -> bool:
        """Return whether the status is 2xx."""
        return 200 <= self.status < 300

    def text(self, key: str) -> str:
        """Return a text or number of the body as text; empty without one."""
        value = self.body.get(key)
        return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""

    def objects(self, key: str) -> list[Mapping[str, object]]:
        """Return the objects of a list of the body."""
        value = self.body.get(key)
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def revealed(secret: Secret | None) -> str:
    """Return the text of a credential. The settings require it for a provider that is enabled."""
    return secret.reveal() if secret is not None else ""


def basic(user: str, password: Secret | None) -> dict[str, str]:
    """Return the header of Basic authentication. Source: RFC 7617."""
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
) -> SmsReply:
    """Send a form. Redirects are not followed: they would carry the credentials elsewhere. Raises: DeliveryFailed."""
    try:
        async with (
            asyncio.timeout(timeout_s),
            session.post(url, data=form, headers=headers, allow_redirects=False) as answer,
        ):
            raw = await _bounded(answer.content)
    except TimeoutError:
        text = f"{provider} did not answer within {timeout_s:g} s"
        raise DeliveryFailed(DeliveryCause.TIMEOUT, text, is_permanent=False) from None
    except (aiohttp.ClientError, OSError):
        raise DeliveryFailed(
            DeliveryCause.UNREACHABLE, f"{provider} cannot be reached", is_permanent=False
        ) from None
    return SmsReply(answer.status, _object(raw))


def rejection(
    provider: str, reply: SmsReply, code: str = "", message: str = "", *, may_pass: bool = False
) -> DeliveryFailed:
    """Return the failure for a rejection: the provider's code, and the safe words of its message. `may_pass`: retry later."""
    words = safe_words(message)
    digits_of_code = code if code.isascii() and code.isdecimal() and len(code) < 10 else ""
    parts = ", ".join(
        part
        for part in (f"HTTP {reply.status}", f"code {digits_of_code}" if digits_of_code else "", words)
        if part
    )
    is_temporary = may_pass or reply.status == 429 or reply.status >= 500
    cause = DeliveryCause.LOGIN if reply.status == 401 else DeliveryCause.REFUSED
    return DeliveryFailed(
        cause,
        f"{provider} refused the message ({parts})",
        is_permanent=not is_temporary,
        code=int(digits_of_code or reply.status),
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
