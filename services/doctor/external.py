"""Checks of what the settings name in addition to the servers: the certificate, the object store, the collector of traces."""

import socket
from urllib.parse import urlsplit

from schemas.settings.tree import Settings
from services.doctor.finding import DoctorFinding, FindingLevel

_CONNECT_S = 3.0
_DAY_S = 86400
_SOON_DAYS = 14
_PORTS = {"http": 80, "https": 443}


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
