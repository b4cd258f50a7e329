"""Checks of the gateway's certificate: its files, when it ends, and by ACME when it is renewed and why an order failed."""

import time
from collections.abc import Sequence
from pathlib import Path

from broker.processes.setting_files import find_file
from schemas.settings.tree import Settings, SettingsError
from services.certificates.folder import CertificateFolder, facts_of
from services.certificates.model import OrderHistory, RenewalAdvice
from services.certificates.schedule import CertificateFacts
from services.doctor.finding import DoctorFinding, FindingLevel
from services.gateway.connections.certificate import Certificate

_DAY_S = 86400
_SOON_DAYS = 14
_TITLE = "certificate"
_ORDER_CURE = (
    "Ports 80 and 443 of every domain must lead to this gateway from outside; docs/certificates.md lists what to look at. "
    "`headwater logs edges` shows every order."
)


def look_at_certificate(
    settings: Settings, folders: Sequence[Path], data: Path, now: float | None = None
) -> list[DoctorFinding]:
    """Check that the gateway's certificate can be used, and when it ends."""
    now = time.time() if now is None else now
    if settings.certificates.domains:
        return [_look_at_order(settings, CertificateFolder(data), now)]
    return _look_at_files(settings, folders, now)


def certificate_line(settings: Settings, data: Path, now: float | None = None) -> str:
    """Return what `status` shows of a certificate by ACME; empty without a domain."""
    own, folder = settings.certificates, CertificateFolder(data)
    if not own.domains:
        return ""
    now = time.time() if now is None else now
    facts, history = folder.facts(), folder.read_history()
    text = "none yet" if facts is None else _held(facts, own.renew_before, folder.read_advice(), now)
    return text + (f"; {_failed(history)}" if history.failures else "")


def _look_at_order(settings: Settings, folder: CertificateFolder, now: float) -> DoctorFinding:
    own, facts, history = settings.certificates, folder.facts(), folder.read_history()
    failed = f"; {_failed(history)}" if history.failures else ""
    if facts is None:
        level = FindingLevel.ERROR if history.failures else FindingLevel.WARNING
        return DoctorFinding(
            _TITLE, level, f"none was issued for {', '.join(own.domains)} yet{failed}", _ORDER_CURE
        )
    missing, advice = set(own.domains) - facts.names, folder.read_advice()
    text = (
        _held(facts, own.renew_before, advice, now)
        + (f", without {', '.join(sorted(missing))}" if missing else "")
        + failed
    )
    if facts.ends < now or missing:
        return DoctorFinding(_TITLE, FindingLevel.ERROR, text, _ORDER_CURE)
    is_late = now > (facts.renewal_at(own.renew_before, advice) + facts.ends) / 2
    if history.failures or is_late:
        return DoctorFinding(_TITLE, FindingLevel.WARNING, text, _ORDER_CURE)
    return DoctorFinding(_TITLE, FindingLevel.OK, text)


def _held(facts: CertificateFacts, renew_before: float, advice: RenewalAdvice | None, now: float) -> str:
    days, renewal = (facts.ends - now) / _DAY_S, facts.renewal_at(renew_before, advice)
    end = f"valid until {_day(facts.ends)} ({days:.0f} days)" if days > 0 else f"ended on {_day(facts.ends)}"
    by = " as its authority advises" if facts.advised_at(advice) is not None else ""
    return f"{end}, renewed from {_day(renewal)} on{by}" if renewal > now else f"{end}, to be renewed now{by}"


def _failed(history: OrderHistory) -> str:
    count = "order failed" if history.failures == 1 else f"{history.failures} orders failed"
    return f"{count}, next {_moment(history.next_at)} UTC: {history.error}"


def _look_at_files(settings: Settings, folders: Sequence[Path], now: float) -> list[DoctorFinding]:
    """Check the files of `api.tls`."""
    tls = settings.api.tls
    if not tls.enabled:
        return []
    try:
        Certificate.of_settings(tls, folders)
    except SettingsError as error:
        cure = "Correct api.tls.cert_path and api.tls.key_path: two files in PEM, the key without a password."
        return [DoctorFinding(_TITLE, FindingLevel.ERROR, str(error), cure)]
    facts = facts_of(find_file(tls.cert_path, folders))
    expires = 0.0 if facts is None else facts.ends
    cure = "Renew it and write it into the same files: they are read again without a restart."
    if expires < now:
        return [DoctorFinding(_TITLE, FindingLevel.ERROR, f"it ended on {_day(expires)}", cure)]
    level = FindingLevel.WARNING if expires - now < _SOON_DAYS * _DAY_S else FindingLevel.OK
    return [
        DoctorFinding(
            _TITLE, level, f"it holds until {_day(expires)}", cure if level is not FindingLevel.OK else ""
        )
    ]


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def _moment(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(moment))
