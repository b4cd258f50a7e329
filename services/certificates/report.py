"""What the leading edge reports of the certificate (pure)."""

from schemas.certificate_status import CertificateReport
from schemas.settings.certificates import Certificates
from services.certificates.model import OrderHistory, RenewalAdvice
from services.certificates.schedule import CertificateFacts


def report_of(
    settings: Certificates,
    directory: str,
    facts: CertificateFacts | None,
    history: OrderHistory,
    advice: RenewalAdvice | None,
    now: float,
    *,
    is_ordering: bool,
) -> CertificateReport:
    """Return the report of a certificate, None for one that was not issued yet."""
    failed = (
        {}
        if is_ordering
        else {
            "failures": history.failures,
            "last_error": history.error,
            "failed_at": history.failed_at,
            "next_order_at": history.next_at,
        }
    )
    if facts is None:
        return CertificateReport(settings.domains, directory, now, is_ordering=is_ordering, **failed)  # type: ignore[arg-type]  # names and types are those of the struct
    is_about_it = advice is not None and advice.certificate == facts.fingerprint
    return CertificateReport(
        settings.domains,
        directory,
        now,
        names=sorted(facts.names),
        issuer=facts.issuer,
        fingerprint=facts.fingerprint,
        not_before=facts.begins,
        not_after=facts.ends,
        renewal_at=facts.renewal_at(settings.renew_before, advice),
        is_advised=facts.advised_at(advice) is not None,
        asks_again_at=advice.ask_again_at if is_about_it and advice is not None else 0.0,
        advice_fault=advice.fault if is_about_it and advice is not None else "",
        is_ordering=is_ordering,
        **failed,  # type: ignore[arg-type]  # as above
    )
