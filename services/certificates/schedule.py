"""When a certificate is ordered, and how long an order waits after failures (pure).

The authority is asked when to renew (RFC 9773), if it can tell: then its advice counts in place of `renew_before`, so that it can spread
renewals, and bring one forward for a certificate that it is about to revoke. Advice for the last tenth of the lifetime is not followed.

Let's Encrypt accepts five failed validations of a name in an hour and fifty certificates of a domain in a week, so an order that fails is
not repeated at once: 1 min, 5 min, 30 min, 2 h, then every 6 h. An authority that names a time is obeyed.

The clock of this machine may be wrong for a while. What it wrote while it was ahead counts no more once it was set back: else a
failure would keep orders waiting until it has caught up. And a new certificate whose times are the authority's would look due at
once to a clock that is weeks ahead, and be ordered again and again; so by how much it was ahead is measured at each issue.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from services.certificates.model import OrderHistory, RenewalAdvice

_WAITS_S = (60.0, 300.0, 1800.0, 7200.0, 21600.0)
_LONGEST_S = 7 * 86400.0
"""Longest time that an authority can demand."""
_FUTURE_S = 600.0
"""A time that is further ahead of the clock was written before the clock was set back."""
_DAY_S = 86400.0
_LATEST = 0.1
"""Share of the lifetime before the end in which no advice of the authority delays the renewal."""


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """What a certificate says. `names` are its domains in lower case."""

    names: frozenset[str]
    begins: float
    ends: float
    issuer: str = ""
    fingerprint: str = ""
    """SHA-256 of the certificate, in hexadecimal."""

    def renewal_at(self, renew_before: float, advice: RenewalAdvice | None = None) -> float:
        """Return the time of its renewal.

        The authority's advice counts, if there is one for this certificate; else it is `renew_before` ahead of the end, or after two
        thirds of the lifetime if that is later.
        """
        if (advised := self.advised_at(advice)) is not None:
            return min(advised, self.ends - _LATEST * (self.ends - self.begins))
        return self.ends - min(renew_before, (self.ends - self.begins) / 3)

    def advised_at(self, advice: RenewalAdvice | None) -> float | None:
        """Return the time that the authority chose for this certificate; None without one."""
        return advice.renew_at if advice is not None and advice.certificate == self.fingerprint else None


def order_at(
    facts: CertificateFacts | None,
    domains: Sequence[str],
    renew_before: float,
    history: OrderHistory,
    directory: str = "",
    advice: RenewalAdvice | None = None,
    ahead: float = 0.0,
) -> float:
    """Return the time of the next order from an authority; a time that is past means now.

    `ahead`: by how many seconds this machine's clock is ahead of the authority's (`clock_ahead`).
    """
    is_of_another = history.issued_by not in ("", directory)  # as after a trial with the staging directory
    is_wrong = facts is None or not facts.names >= set(domains) or is_of_another
    due = 0.0 if is_wrong or facts is None else facts.renewal_at(renew_before, advice) + ahead
    return max(due, history.next_at)


def after_failure(history: OrderHistory, error: str, now: float, retry_after_s: float = 0.0) -> OrderHistory:
    """Return the history with one more failure."""
    wait = max(_WAITS_S[min(history.failures, len(_WAITS_S) - 1)], min(retry_after_s, _LONGEST_S))
    return OrderHistory(history.failures + 1, now + wait, error, now, history.issued_by, now)


def clock_ahead(facts: CertificateFacts, now: float) -> float:
    """Return by how many seconds this machine's clock is ahead of that of the authority, which has just issued a certificate.

    0 for less than a day or a quarter of the lifetime, by which authorities date certificates back.
    """
    ahead = now - facts.begins
    return ahead if ahead > min(_DAY_S, (facts.ends - facts.begins) / 4) else 0.0


def is_of_the_future(written_at: float, now: float) -> bool:
    """Return whether a time was written by a clock that was set back since."""
    return written_at > now + _FUTURE_S


def is_later(written_at: float, other: float, now: float) -> bool:
    """Return whether what was written at one time counts more than what was written at another: what is of the future counts least."""
    return (not is_of_the_future(written_at, now), written_at) > (not is_of_the_future(other, now), other)


def by_present_clock(history: OrderHistory, now: float) -> OrderHistory:
    """Return the history; if it was written in what is now the future, as if its last failure had been now."""
    if not is_of_the_future(max(history.changed_at, history.failed_at), now):
        return history
    wait = max(0.0, history.next_at - history.failed_at) if history.failures else 0.0
    return replace(
        history,
        next_at=now + wait if wait else 0.0,
        failed_at=now if history.failures else 0.0,
        changed_at=now,
    )
