"""A hook that is an HTTP service: a signed POST, retried if the connection failed or the service was busy.

Source: docs/reference/auth.md, section 17.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.credentials.webhook_signatures import WebhookSigner
from workers.database.transactions.interactive import Transaction
from workers.http_client.client import FetchedResponse, FetchFailed, HttpClient

MOST_BYTES = 200 * 1024
_NOTHING = b"{}"
_ANSWERS = (200, 202)
_EMPTY = 204
_BUSY = (429, 503)


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """The time limit of a call in all, the number of tries, and the pause between two of them."""

    total_s: float = 5.0
    tries: int = 3
    pause_s: float = 2.0


@dataclass(frozen=True, slots=True)
class HttpHook:
    """Calls a service, and signs the calls. Its URL may hold a key too, so it is not part of the repr."""

    url: str = field(repr=False)
    signer: WebhookSigner
    outgoing: HttpClient
    clock: Callable[[], float]
    limits: RetryLimits

    async def ask(self, id: str, body: bytes, transaction: Transaction | None = None) -> bytes:
        """Send a payload and return the JSON of the answer. Every try has the same id. Raises: AuthError."""
        del transaction  # the service does not see changes that are not committed
        limits = self.limits
        try:
            async with asyncio.timeout(limits.total_s):
                for number in range(limits.tries):
                    if number:
                        await asyncio.sleep(limits.pause_s)
                    answer = await self._try(id, body)
                    if answer is not None:
                        return _content(answer)
        except TimeoutError:
            raise _timed_out(limits.total_s) from None
        raise AuthError(ErrorCode.HOOK_TIMEOUT_AFTER_RETRY, "Failed to reach hook after maximum retries")

    async def _try(self, id: str, body: bytes) -> FetchedResponse | None:
        """Call once. Return None if a retry may succeed."""
        at = datetime.fromtimestamp(self.clock(), UTC)
        headers = {"content-type": "application/json", **self.signer.headers(id, at, body.decode())}
        try:
            answer = await self.outgoing.fetch(
                "POST",
                self.url,
                headers=headers,
                body=body,
                timeout_s=self.limits.total_s,
                most_bytes=MOST_BYTES,
            )
        except FetchFailed as error:
            if error.is_connection:
                return None
            raise self._failure(error) from None
        is_busy = answer.status in _BUSY and "retry-after" in answer.headers
        return None if is_busy else answer

    def _failure(self, error: FetchFailed) -> AuthError:
        if error.is_timeout:
            return _timed_out(self.limits.total_s)
        if error.is_too_long:
            return AuthError(
                ErrorCode.HOOK_PAYLOAD_OVER_SIZE_LIMIT, f"The hook's answer is longer than {MOST_BYTES} bytes"
            )
        return AuthError(ErrorCode.UNEXPECTED_FAILURE, f"The hook could not be asked: {error}")


def _content(answer: FetchedResponse) -> bytes:
    """Return the JSON body of an answer. Raises: AuthError."""
    if answer.status == _EMPTY:
        return _NOTHING
    if answer.status not in _ANSWERS:
        raise AuthError(ErrorCode.UNEXPECTED_FAILURE, f"The hook answered with status {answer.status}")
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise AuthError(
            ErrorCode.HOOK_PAYLOAD_INVALID_CONTENT_TYPE, "The hook's answer must be of type application/json"
        )
    return answer.body


def _timed_out(limit_s: float) -> AuthError:
    return AuthError(
        ErrorCode.HOOK_TIMEOUT, f"Failed to reach hook within maximum time of {limit_s:g} seconds"
    )
