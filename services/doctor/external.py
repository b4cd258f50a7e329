"""Checks of what the settings name in addition to the servers: the certificate, the object store, the collector of traces."""

import socket
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from broker.processes.setting_files import find_file
from schemas.settings.tree import Settings, SettingsError
from services.doctor.finding import DoctorFinding, FindingLevel
from services.gateway.certificate import Certificate

_CONNECT_S = 3.0
_DAY_S = 86400
_SOON_DAYS = 14
_PORTS = {"http": 80, "https": 443}


def look_at_certificate(
    settings: Settings, folders: Sequence[Path], now: float | None = None
) -> list[DoctorFinding]:
    """Check that the gateway's certificate can be loaded, and when it expires."""
    tls, title = settings.api.tls, "certificate"
    if not tls.enabled:
        return []
    now = time.time() if now is None else now
    try:
        Certificate(tls, folders)
    except SettingsError as error:
        cure = "Correct api.tls.cert_path and api.tls.key_path: two files in PEM, the key without a password."
        return [DoctorFinding(title, FindingLevel.ERROR, str(error), cure)]
    expires = _expiry_of(find_file(tls.cert_path, folders))
    days = (expires - now) / _DAY_S
    text = f"it holds until {time.strftime('%Y-%m-%d', time.gmtime(expires))}"
    cure = "Renew it and write it into the same files: they are read again without a restart."
    if days < 0:
        return [
            DoctorFinding(
                title,
                FindingLevel.ERROR,
                f"it ended on {time.strftime('%Y-%m-%d', time.gmtime(expires))}",
                cure,
            )
        ]
    if days < _SOON_DAYS:
        return [DoctorFinding(title, FindingLevel.WARNING, text, cure)]
    return [DoctorFinding(title, FindingLevel.OK, text)]


def look_at_store(settings: Settings) -> list[DoctorFinding]:
    """Check that an external object store can be reached, if its address is set."""
    storage = settings.storage
    if not storage.enabled or storage.backend != "s3" or not storage.s3.endpoint:
        return []
    cure = "Start it, or correct storage.s3.endpoint; look at firewalls between the machines."
    return [_check_connection("object store", storage.s3.endpoint, FindingLevel.ERROR, cure)]


def look_at_collector(settings: Settings) -> list[DoctorFinding]:
    """Check that the collector of traces can be reached. Without it requests succeed, but traces are lost."""
    endpoint = settings.observability.otlp_endpoint
    if not endpoint:
        return []
    cure = "Start it, correct observability.otlp_endpoint (OTEL_EXPORTER_OTLP_ENDPOINT), or leave that empty."
    return [_check_connection("traces", endpoint, FindingLevel.WARNING, cure)]


def _check_connection(title: str, url: str, level: FindingLevel, cure: str) -> DoctorFinding:
    parts = urlsplit(url)
    try:
        address = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    except (KeyError, ValueError):
        return DoctorFinding(title, level, "its address is no URL that begins with http:// or https://", cure)
    try:
        with socket.create_connection(address, _CONNECT_S):
            return DoctorFinding(title, FindingLevel.OK, f"{address[0]}:{address[1]} answers")
    except OSError as error:
        reason = error.strerror or "no answer in time"
        return DoctorFinding(title, level, f"{address[0]}:{address[1]} does not answer: {reason}", cure)


def _expiry_of(path: Path) -> float:
    """Return when the first certificate of a file expires."""
    from cryptography.x509 import load_pem_x509_certificate

    return load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc.timestamp()
