"""Checks of addresses in the settings that other checks do not read: what cannot be parsed is refused before a process starts. Pure.

The text of an address is not shown: it may contain a password.
"""

import ipaddress
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from schemas.settings.tree import Settings

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?", re.ASCII)
_HOST = re.compile(r"([\w.-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?")


def address_fault(settings: Settings) -> str | None:
    """Return the first error, with the key in braces, or None."""
    return next(_faults(settings), None)


def is_address(text: str, *schemes: str) -> bool:
    """Return whether a text is an address of one of the schemes with a host and, if it names one, a port."""
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _faults(settings: Settings) -> Iterator[str]:
    for key, text, example in (
        ("api.external_url", settings.api.external_url, "https://api.example.org"),
        ("backup.s3.endpoint", settings.backup.s3.endpoint, "https://storage.example.org"),
        ("backup.azure.endpoint", settings.backup.azure.endpoint, "https://storage.example.org"),
        ("observability.otlp_endpoint", settings.observability.otlp_endpoint, "http://127.0.0.1:4318"),
        ("certificates.directory", settings.certificates.directory, "https://acme.example.org/directory"),
    ):
        if text and not is_address(text, "http", "https"):
            yield f"{{{key}}} must be a URL such as {example}"
    for origin in settings.management.mcp_origins:
        if not _ORIGIN.fullmatch(origin):
            yield f"{{management.mcp_origins}} has '{origin}', which is no origin such as https://agent.example.com, in lower case and without a path"
    for entry in settings.net.allow:
        if not _is_network(entry.strip()) and not _HOST.fullmatch(entry.strip()):
            yield f"{{net.allow}} has '{entry}', which is neither a network such as 10.1.0.0/16, nor a host with or without a port"
    servers = settings.broker.url.reveal().split(",") if settings.broker.url else []
    for server in filter(None, map(str.strip, servers)):
        if not is_address(server if "://" in server else f"nats://{server}", "nats", "tls"):
            yield "{broker.url} must be nats://[user:password@]host[:port], or tls://..., several separated by commas"


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True
