"""TLS of this machine's own requests to its gateway (pure)."""

import ssl
from urllib.parse import urlsplit

from services.supervisor.exposure import is_loopback


def context_for(url: str) -> ssl.SSLContext | None:
    """Return the TLS context of a request: None, which verifies, but for the loopback address.

    The gateway's certificate is for its public name or signed by itself, and no other machine can answer at that address.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or not is_loopback(parts.hostname or "."):
        return None
    return ssl._create_unverified_context()  # noqa: S323 - loopback only, see the docstring
