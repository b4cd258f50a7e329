"""When a certificate is ordered, and how long an order waits after failures (pure).

The authority is asked when to renew (RFC 9773), if it can tell: then its advice counts in place of `renew_before`, so that it can spread
renewals, and bring one forward for a certificate that it is about to revoke. Advice for the last tenth of the lifetime is not followed.

Let's Encrypt accepts five failed validations of a name in an hour and fifty certificates of a domain in a week, so an order that fails is
not repeated at once: 1 min, 5 min, 30 min, 2 h, then every 6 h. An authority that names a time is obeyed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from services.certificates.model import OrderHistory, RenewalAdvice

_WAITS_S = (60.0, 300.0, 1800.0, 7200.0, 21600.0)
_LONGEST_S = 7 * 86400.0
"""Longest time that an authority can demand."""
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
) -> float:
    """Return the time of the next order from an authority; a time that is past means now."""
    is_of_another = history.issued_by not in ("", directory)  # as after a trial with the staging directory
    is_wrong = facts is None or not facts.names >= set(domains) or is_of_another
    due = 0.0 if is_wrong or facts is None else facts.renewal_at(renew_before, advice)
    return max(due, history.next_at)


def after_failure(history: OrderHistory, error: str, now: float, retry_after_s: float = 0.0) -> OrderHistory:
    """Return the history with one more failure."""
    wait = max(_WAITS_S[min(history.failures, len(_WAITS_S) - 1)], min(retry_after_s, _LONGEST_S))
    return OrderHistory(history.failures + 1, now + wait, error, now, history.issued_by, now)
