"""The cause of a transaction that may write: a setting that the triggers of tables with history or a webhook put into the log (schemas/causes.py).

Every worker signs with the key that `configure` was given, once a process. Transactions that only read, and those of the platform's own
work (no request is being served), get no cause. Hot path: `cause_of` runs for each transaction that may write.
"""

import itertools
import os
import time
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from broker.requests.current_request import CURRENT
from schemas.bounded_cache import BoundedCache
from schemas.caller import AnonymousCaller, Caller, ServiceCaller, UserCaller
from schemas.causes import SignedCause, shortened, sign_cause


class _Subject(Struct):
    sub: object = ""


_decode_subject = msgspec.json.Decoder(_Subject).decode


class CauseSigner:
    """Signs causes. The nonce is unique: a random beginning for the process, then a count."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._start = os.urandom(8).hex()
        self._process = os.getpid()
        self._count = itertools.count()
        self._subjects: BoundedCache[bytes, str] = BoundedCache(1000)

    def cause_of(self, settings: Sequence[tuple[str, str]]) -> str | None:
        """Return the signed cause of a transaction with these settings; None if it serves no request."""
        served = CURRENT.get()
        if served is None or not served.request.id:
            return None
        request = served.request
        if self._process != os.getpid():  # forked since: two processes must not share nonces
            self._start, self._process = os.urandom(8).hex(), os.getpid()
        role = next((value for name, value in settings if name == "role"), "")
        cause = SignedCause(
            f"{self._start}{next(self._count):x}",
            int(time.time() * 1000),
            shortened(request.id),
            role,
            self._subject(request.caller),
            served.pool,
            shortened(f"{request.method} {request.path}"),
        )
        return sign_cause(self._key, cause)

    def _subject(self, caller: Caller) -> str:
        match caller:
            case UserCaller(claims):
                subject = self._subjects.get(claims)
                if subject is None:
                    value = _decode_subject(claims).sub
                    subject = shortened(value) if isinstance(value, str) else ""
                    self._subjects.put(claims, subject)
                return subject
            case AnonymousCaller() | ServiceCaller():
                return ""
        return ""


class SigningState:
    """The signer of this process, None before `configure`; and whether any table has a history or a webhook, as workers/history_watch.py reads it."""

    signer: CauseSigner | None = None
    is_needed: bool = False


STATE = SigningState()


def cause_for(settings: Sequence[tuple[str, str]]) -> str | None:
    """Return the signed cause of a transaction that may write; None where no table has a history or a webhook, or no request is served."""
    if not STATE.is_needed or STATE.signer is None:
        return None
    return STATE.signer.cause_of(settings)


def configure(key: bytes) -> None:
    """Sign causes with this key from now on."""
    STATE.signer = CauseSigner(key)
