"""Errors of requests with an `Idempotency-Key`. Each interface answers them in its own format.

    Exception
    |- KeyMalformed     400  the key is empty, too long, or has characters that are not allowed
    |- KeyInUse         409  the first request with this key is still being carried out
    |- KeyReused        422  the first request with this key was another one
    |- TooManyKeys      429  the caller has as many keys as it may have; nothing was done
    `- KeysUnavailable  503  the database cannot store keys; nothing was done

Source: draft-ietf-httpapi-idempotency-key-header, 2.7.
"""

from typing import ClassVar

from schemas.http import Headers


class IdempotencyError(Exception):
    """A request with an `Idempotency-Key` is not carried out."""

    status: ClassVar[int] = 500
    retry_after_s: ClassVar[int | None] = None
    hint: ClassVar[str | None] = None

    @property
    def code(self) -> str:
        """Return the code that clients see: `HW` and the status."""
        return f"HW{self.status}"

    def headers(self) -> Headers:
        """Return headers that the response has in addition to those of its interface."""
        return [] if self.retry_after_s is None else [("retry-after", str(self.retry_after_s))]


class KeyMalformed(IdempotencyError):
    """The header is not a key."""

    status = 400
    hint = "Send one key of 1 to 255 printable ASCII characters, such as a UUID"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The Idempotency-Key {reason}")


class KeyInUse(IdempotencyError):
    """The first request with this key has not ended."""

    status = 409
    retry_after_s = 1
    hint = "Repeat the request with the same key in a moment"

    def __init__(self) -> None:
        super().__init__("A request with this Idempotency-Key is being carried out")


class KeyReused(IdempotencyError):
    """The key belongs to another request of this caller."""

    status = 422
    hint = "Use a new key for each write; repeat a write with the same method, URL, profile and body"

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used for another request")


class TooManyKeys(IdempotencyError):
    """The caller has `most` keys that have not expired."""

    status = 429
    retry_after_s = 60
    hint = "Nothing was done. Keys expire; the bound is api.idempotency.max_keys"

    def __init__(self, most: int) -> None:
        super().__init__(f"More than {most} idempotency keys are in use by this caller")


class KeysUnavailable(IdempotencyError):
    """The database cannot store keys, or has a record that this installation did not write."""

    status = 503
    hint = "Nothing was done by this request"
