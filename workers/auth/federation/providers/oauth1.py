"""Signatures of OAuth 1.0a by HMAC-SHA1. Pure but for the clock and the random source of `oauth_parameters`.

Source: RFC 5849, 3.4 to 3.6.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlsplit

_USUAL_PORT = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Credentials:
    """An id and its secret: of a client, or of a token."""

    id: str = ""
    secret: str = field(default="", repr=False)


def oauth_parameters(
    consumer: Credentials, now: float, token: Credentials | None = None, **more: str
) -> dict[str, str]:
    """Return the OAuth parameters of a request, before its signature."""
    parameters = {
        "oauth_consumer_key": consumer.id,
        "oauth_nonce": secrets.token_hex(16),
        "oauth_signature_method": "HMAC-SHA1",
        "oauth_timestamp": str(int(now)),
        "oauth_version": "1.0",
    }
    return {**parameters, **({"oauth_token": token.id} if token else {}), **more}


def header(
    method: str,
    url: str,
    parameters: Mapping[str, str],
    consumer: Credentials,
    token: Credentials | None = None,
) -> str:
    """Sign a request without a body, and return its `Authorization` header."""
    token = token or Credentials()
    signed = {**parameters, "oauth_signature": signature(method, url, parameters, consumer, token)}
    return "OAuth " + ", ".join(
        f'{_escaped(name)}="{_escaped(value)}"' for name, value in sorted(signed.items())
    )


def signature(
    method: str, url: str, parameters: Mapping[str, str], consumer: Credentials, token: Credentials
) -> str:
    """Return the signature over method, URL and all parameters of header and query."""
    query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    base = "&".join(
        _escaped(part) for part in (method.upper(), base_url(url), _normal([*parameters.items(), *query]))
    )
    key = f"{_escaped(consumer.secret)}&{_escaped(token.secret)}"
    return base64.b64encode(hmac.new(key.encode(), base.encode(), hashlib.sha1).digest()).decode()


def base_url(url: str) -> str:
    """Return the signed part of a URL: without query and default port."""
    parts = urlsplit(url)
    scheme, host, port = parts.scheme.lower(), (parts.hostname or "").lower(), parts.port
    authority = host if port in (None, _USUAL_PORT.get(scheme)) else f"{host}:{port}"
    return f"{scheme}://{authority}{parts.path or '/'}"


def _normal(parameters: Iterable[tuple[str, str]]) -> str:
    escaped = sorted((_escaped(name), _escaped(value)) for name, value in parameters)
    return "&".join(f"{name}={value}" for name, value in escaped)


def _escaped(text: str) -> str:
    return quote(text, safe="-._~")
