"""What answers the authority that looks for a challenge: the text of HTTP-01, the certificate of TLS-ALPN-01.

Any edge answers: the answers are in the bucket while an order runs. An authority asks for every domain from several places at once, and
anybody else can ask as well: questions that come while the bucket is read share the next read, so one read runs at a time.
"""

import asyncio
import re
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from schemas.errors import Unavailable
from schemas.settings.certificates import HTTP, TLS_ALPN
from services.certificates.model import ChallengeAnswer

ACME_PROTOCOL = "acme-tls/1"
"""Source: RFC 8737, 6.2."""
CHALLENGE_PATH = "/.well-known/acme-challenge/"
"""Source: RFC 8555, 8.3."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,256}")

ReadAnswers = Callable[[], Awaitable[list[ChallengeAnswer]]]


class ChallengeResponder:
    """Finds the answers of the order that runs."""

    def __init__(self, read: ReadAnswers) -> None:
        self._read = read
        self._running: asyncio.Task[list[ChallengeAnswer]] | None = None
        self._following: asyncio.Task[list[ChallengeAnswer]] | None = None

    async def text(self, path: str) -> str | None:
        """Return the answer to a request of HTTP-01; None if there is none."""
        token = path.removeprefix(CHALLENGE_PATH)
        if not _TOKEN.fullmatch(token):
            return None
        return next(
            (answer.key_authorization for answer in await self._answers(HTTP) if answer.token == token), None
        )

    async def context(self, domain: str) -> ssl.SSLContext | None:
        """Return the TLS context that answers TLS-ALPN-01 for a domain; None if there is none."""
        for answer in await self._answers(TLS_ALPN):
            if answer.domain == domain.lower():
                return await asyncio.to_thread(_context_of, answer)
        return None

    async def _answers(self, kind: str) -> list[ChallengeAnswer]:
        """Return the answers of a read that begins now or later; an earlier one may lack a challenge that was added since."""
        if self._following is None:
            self._following = asyncio.create_task(self._read_after(self._running))
        answers = await asyncio.shield(self._following)
        return [answer for answer in answers if answer.kind == kind]

    async def _read_after(self, earlier: asyncio.Task[list[ChallengeAnswer]] | None) -> list[ChallengeAnswer]:
        if earlier is not None:
            await asyncio.wait([earlier])
        self._running, self._following = self._following, None
        try:
            return await self._read()
        except Unavailable:
            return []


def _context_of(answer: ChallengeAnswer) -> ssl.SSLContext:
    """Return a context with the certificate; `ssl` reads certificates from files alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols([ACME_PROTOCOL])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "challenge.pem")
        file.touch(mode=0o600)
        file.write_text(answer.certificate + answer.key)
        context.load_cert_chain(file)
    return context
