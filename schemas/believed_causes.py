"""Which signed causes are believed: those that are young when their transaction commits, each in one transaction (schemas/causes.py). Pure.

The memory is bounded: when it is full the oldest nonces are forgotten, and causes that were signed no later than those are no longer believed.
"""

from collections import OrderedDict

from schemas.causes import LONGEST_S, SignedCause

_MOST = 200_000
_AHEAD_S = 60.0
"""How far the clock of a worker may be ahead of the database's."""


class BelievedCauses:
    """Remembers nonces, and the position of the commit that each came with. Causes that were signed up to `since_ms` are not believed."""

    def __init__(self, most: int = _MOST, since_ms: int = 0) -> None:
        self._most = most
        self._commits: OrderedDict[str, tuple[int, int]] = OrderedDict()
        """Nonce -> position of the commit, and when it was signed."""
        self._least_ms = since_ms

    def remember(self, nonce: str, issued_ms: int, lsn: int) -> None:
        """Remember a nonce that was believed before this process led."""
        self._commits[nonce] = (lsn, issued_ms)

    def believe(self, cause: SignedCause, lsn: int, committed_at_us: int) -> bool:
        """Return whether a cause is that of the transaction that was committed at a position and time (microseconds)."""
        known = self._commits.get(cause.nonce)
        if known is not None:
            return known[0] == lsn
        age_s = committed_at_us / 1e6 - cause.issued_ms / 1e3
        if not -_AHEAD_S <= age_s <= LONGEST_S or cause.issued_ms <= self._least_ms:
            return False
        self._commits[cause.nonce] = (lsn, cause.issued_ms)
        self._forget(committed_at_us // 1000)
        return True

    def _forget(self, now_ms: int) -> None:
        oldest_ms = now_ms - int((LONGEST_S + _AHEAD_S) * 1000)
        while self._commits:
            nonce, (_, issued_ms) = next(iter(self._commits.items()))
            if len(self._commits) > self._most:
                self._least_ms = max(self._least_ms, issued_ms)
            elif issued_ms >= oldest_ms:
                return
            del self._commits[nonce]
