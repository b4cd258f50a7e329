"""What is logged and counted about orders of certificates."""

from typing import ClassVar

from broker.observability.observations import Observation


class CertificateOrdered(Observation, frozen=True):
    """A certificate is ordered from the authority."""

    domains: str
    directory: str


class CertificateIssued(Observation, frozen=True):
    """The authority has issued a certificate; new connections get it."""

    domains: str
    days: int
    """Days for which it is valid."""


class CertificateOrderFailed(Observation, frozen=True):
    """The certificate could not be ordered. The present one stays in use, and the order is repeated later."""

    level: ClassVar[str] = "error"
    reason: str
    failures: int
    retry_in_s: int


class CertificateAdvised(Observation, frozen=True):
    """The authority was asked when to renew the certificate, and named a window."""

    renewal_in_s: int
    """Seconds until the moment that was chosen in the window; negative: it is past, and the certificate is renewed now."""


class CertificateAdviceFailed(Observation, frozen=True):
    """The authority could not be asked when to renew the certificate. Its earlier advice counts, else the settings."""

    level: ClassVar[str] = "warning"
    reason: str


class DnsRecordsRemain(Observation, frozen=True):
    """Records of DNS-01 could not be removed. Their values are used once, so they do no harm."""

    level: ClassVar[str] = "warning"
    reason: str


class CertificatesCrashed(Observation, frozen=True):
    """An unexpected error ended a look at the certificate; the next one follows as usual."""

    level: ClassVar[str] = "error"
    traceback: str


class CertificatesNotShared(Observation, frozen=True):
    """The store through which edges share the certificate cannot be reached."""

    level: ClassVar[str] = "warning"
    reason: str


class CertificateFilesFailed(Observation, frozen=True):
    """The certificate cannot be written to the data folder."""

    level: ClassVar[str] = "error"
    reason: str
