"""What the settings name beside the servers: the certificate, the store of objects, the collector of traces."""

import socket
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from schemas.settings.files import find_file
from schemas.settings.tree import Settings, SettingsError
from services.doctor.finding import Finding, Level
from services.gateway.certificate import Certificate

_CONNECT_S = 3.0
_DAY_S = 86400
_SOON_DAYS = 14
_PORTS = {"http": 80, "https": 443}


def look_at_certificate(
    settings: Settings, folders: Sequence[Path], now: float | None = None
) -> list[Finding]:
    """Tell whether the certificate of the gateway can be used, and for how long."""
    tls, title = settings.api.tls, "certificate"
    if not tls.enabled:
        return []
    now = time.time() if now is None else now
    try:
        Certificate(tls, folders)
    except SettingsError as error:
        cure = "Correct api.tls.cert_path and api.tls.key_path: two files in PEM, the key without a password."
        return [Finding(title, Level.ERROR, str(error), cure)]
    ends = _end_of(find_file(tls.cert_path, folders))
    days = (ends - now) / _DAY_S
    told = f"it holds until {time.strftime('%Y-%m-%d', time.gmtime(ends))}"
    cure = "Renew it and write it into the same files: they are read anew, without a restart."
    if days < 0:
        return [
            Finding(title, Level.ERROR, f"it ended on {time.strftime('%Y-%m-%d', time.gmtime(ends))}", cure)
        ]
    if days < _SOON_DAYS:
        return [Finding(title, Level.WARNING, told, cure)]
    return [Finding(title, Level.OK, told)]


def look_at_store(settings: Settings) -> list[Finding]:
    """Tell whether an outside store of objects can be reached, where one is named by its address."""
    storage = settings.storage
    if not storage.enabled or storage.backend != "s3" or not storage.s3.endpoint:
        return []
    cure = "Start it, or correct storage.s3.endpoint; look at firewalls between the machines."
    return [_reached("object store", storage.s3.endpoint, Level.ERROR, cure)]


def look_at_collector(settings: Settings) -> list[Finding]:
    """Tell whether the collector of traces can be reached. Without it requests go on, and traces are lost."""
    endpoint = settings.observability.otlp_endpoint
    if not endpoint:
        return []
    cure = "Start it, correct observability.otlp_endpoint (OTEL_EXPORTER_OTLP_ENDPOINT), or leave that empty."
    return [_reached("traces", endpoint, Level.WARNING, cure)]


def _reached(title: str, url: str, level: Level, cure: str) -> Finding:
    parts = urlsplit(url)
    try:
        place = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    except (KeyError, ValueError):
        return Finding(title, level, "its address is no URL that begins with http:// or https://", cure)
    try:
        with socket.create_connection(place, _CONNECT_S):
            return Finding(title, Level.OK, f"{place[0]}:{place[1]} answers")
    except OSError as error:
        reason = error.strerror or "no answer in time"
        return Finding(title, level, f"{place[0]}:{place[1]} does not answer: {reason}", cure)


def _end_of(path: Path) -> float:
    """Give when the first certificate of a file ends."""
    from cryptography.x509 import load_pem_x509_certificate

    return load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc.timestamp()
