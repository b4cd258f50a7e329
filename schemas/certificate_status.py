"""What edges report of the gateway's certificate, and the request of an administrator to renew it: entries of the bucket `CERTIFICATES`.

Neither has a secret, so neither is sealed: the pool `management` reads the one and writes the other.
"""

from msgspec import Struct


class CertificateReport(Struct, frozen=True):
    """The certificate by ACME as the edge that leads its orders sees it. Times are seconds since 1970; 0: there is none."""

    domains: list[str]
    """Names of the settings."""
    authority: str
    """URL of the authority's directory."""
    reported_at: float
    names: list[str] = []
    """Names in the present certificate; empty: none was issued yet."""
    issuer: str = ""
    fingerprint: str = ""
    """SHA-256 of the certificate, in hexadecimal."""
    not_before: float = 0.0
    not_after: float = 0.0
    renewal_at: float = 0.0
    """When it is renewed, if no failure makes it wait."""
    is_advised: bool = False
    """Whether the authority named that time (RFC 9773); else it follows from the settings."""
    asks_again_at: float = 0.0
    """When the authority is asked again for that time."""
    advice_fault: str = ""
    """Why the authority could not be asked."""
    is_ordering: bool = False
    failures: int = 0
    """Failed orders since the last success."""
    last_error: str = ""
    failed_at: float = 0.0
    next_order_at: float = 0.0
    """No order before this time, after a failure."""


class RenewalRequest(Struct, frozen=True):
    """A request to renew the certificate now."""

    requested_at: float
