"""What the process of an order knows of an authority: its directory, its nonces, its errors in words, names of certificates.

It is loaded in that process alone (order_process.py): the library takes 25 MB.
"""

import datetime
import re
from typing import Any

import requests
from acme import client, errors, messages
from cryptography import x509
from josepy import json_util
from josepy.b64 import b64encode
from josepy.jwa import ES256
from josepy.jwk import JWK

_NETWORK_S = 30
_RATE_LIMITED_S = 3600.0
_NONCE_TRIES = 5
_UNTIL = re.compile(r"retry after (\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)")


class ValidationFailed(Exception):
    """The authority could not verify every domain: the reasons."""


class _ReplacingOrder(messages.NewOrder):
    """A new order that names the certificate it replaces, which the library cannot. Source: RFC 9773, 5."""

    replaces: str | None = json_util.field("replaces", omitempty=True)


class AuthorityNetwork(client.ClientNetwork):
    """Repeats a request whose nonce was rejected; the library does so once, and an authority may reject nonces as it likes (RFC 8555, 6.5).

    `replaces` is added to new orders: the identifier of the certificate that they replace.
    """

    def __init__(self, key: JWK | None, ca_file: str) -> None:
        super().__init__(
            key, alg=ES256, user_agent="headwater", timeout=_NETWORK_S,
            verify_ssl=ca_file or True,  # type: ignore[arg-type]  # handed to `requests`, which takes a file too
        )  # fmt: skip
        self.replaces = ""

    def post(self, url: str, obj: Any, *args: Any, **kwargs: Any) -> requests.Response:
        if self.replaces and isinstance(obj, messages.NewOrder):
            obj = _ReplacingOrder(identifiers=obj.identifiers, replaces=self.replaces)
        for _ in range(_NONCE_TRIES):
            try:
                return super().post(url, obj, *args, **kwargs)
            except messages.Error as error:
                if error.code != "badNonce":
                    raise
        return super().post(url, obj, *args, **kwargs)


def connect(directory: str, network: AuthorityNetwork) -> client.ClientV2:
    """Return a client of an authority. Raises: requests.RequestException, errors.Error, messages.Error."""
    return client.ClientV2(client.ClientV2.get_directory(directory, network), network)


def renewal_address(authority: client.ClientV2) -> str:
    """Return the address under which the authority tells when to renew; empty for one that does not. Source: RFC 9773, 4.1."""
    return str(authority.directory.to_partial_json().get("renewalInfo") or "").rstrip("/")


def certificate_identifier(chain: str) -> str:
    """Return the identifier of a certificate (PEM); empty for one that does not name its issuer's key. Source: RFC 9773, 4.1."""
    try:
        certificate = x509.load_pem_x509_certificate(chain.encode())
        extension = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    except (ValueError, x509.ExtensionNotFound):
        return ""
    issuer, number = extension.value.key_identifier, certificate.serial_number
    if issuer is None:
        return ""
    serial = number.to_bytes(number.bit_length() // 8 + 1, "big")  # with room for the sign, as in DER
    return f"{b64encode(issuer).decode()}.{b64encode(serial).decode()}"


def words_of(error: Exception) -> str:
    """Return what went wrong, in the authority's own words where it has some."""
    match error:
        case messages.Error():
            problems = "; ".join(problem.detail or problem.typ for problem in error.subproblems or ())
            return f"the authority rejects it: {error.detail or error.typ}" + (
                f" ({problems})" if problems else ""
            )
        case ValidationFailed():
            return f"the authority could not verify {error}"
        case errors.TimeoutError():
            return "the authority did not finish in time"
        case requests.exceptions.SSLError():
            return "the authority's own certificate is not trusted; certificates.directory_ca names the one that signs it"
        case requests.RequestException():
            return f"the authority cannot be reached: {type(error).__name__}"
    return f"{type(error).__name__}: {error}"


def demanded_wait_s(error: Exception) -> float:
    """Return the seconds that a rate limit of the authority demands; 0 for other errors."""
    if not (isinstance(error, messages.Error) and error.typ.endswith(":rateLimited")):
        return 0.0
    if (match := _UNTIL.search(error.detail or "")) is None:
        return _RATE_LIMITED_S
    until = datetime.datetime.fromisoformat(match[1]).replace(tzinfo=datetime.UTC)
    return max((until - datetime.datetime.now(datetime.UTC)).total_seconds(), _RATE_LIMITED_S)
