"""What an identity provider says of itself: its metadata, read into a value. Pure.

Trusted are the keys in it, and only those for signing that are long enough. Source: reference page "auth", section 13;
SAML metadata (saml-metadata-2.0-os), 2.3 and 2.4.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from workers.auth.federation.saml import xml
from workers.auth.federation.saml.moments import BadMoment, read_moment, read_span

_LEAST_RSA_BITS = 2048
_MOST_CERTIFICATES = 10
_MOST_ENTITY_ID = 1024


class BadMetadata(ValueError):
    """A document does not say what is needed of an identity provider. Its text is for its administrator."""


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """An identity provider: who it is, where browsers are sent, what it signs with."""

    entity_id: str
    redirect_url: str
    """Where requests go by HTTP-Redirect; empty if it takes none so."""
    post_url: str
    certificates: tuple[x509.Certificate, ...]
    valid_until: datetime | None = None
    cache_duration: timedelta | None = None


def read_metadata(data: bytes) -> IdentityProvider:
    """Read the metadata of one identity provider. Raises: BadMetadata."""
    try:
        entity = _entity(xml.parse(data))
    except xml.BadXml as error:
        raise BadMetadata(f"SAML Metadata XML cannot be read: {error}") from None
    entity_id = xml.attribute(entity, "entityID").strip()
    if not 0 < len(entity_id) <= _MOST_ENTITY_ID:
        raise BadMetadata("SAML Metadata XML does not contain an EntityID")
    roles = [
        each
        for each in xml.children(entity, xml.METADATA, "IDPSSODescriptor")
        if xml.PROTOCOL in xml.attribute(each, "protocolSupportEnumeration").split()
    ]
    if len(roles) != 1:
        raise BadMetadata("SAML Metadata XML must contain exactly one IDPSSODescriptor of SAML 2.0")
    certificates = tuple(_certificates(roles[0]))
    if not certificates:
        raise BadMetadata(
            f"SAML Metadata XML must contain a signing certificate of RSA ({_LEAST_RSA_BITS} bits or more) or ECDSA"
        )
    return IdentityProvider(
        entity_id=entity_id,
        redirect_url=_location(roles[0], xml.REDIRECT_BINDING),
        post_url=_location(roles[0], xml.POST_BINDING),
        certificates=certificates[:_MOST_CERTIFICATES],
        valid_until=_valid_until(entity, roles[0]),
        cache_duration=_cache_duration(entity, roles[0]),
    )


def _entity(root: xml.Element) -> xml.Element:
    """Give the one description of an identity provider, which may stand in a list."""
    if root.tag == xml.name(xml.METADATA, "EntityDescriptor"):
        return root
    if root.tag != xml.name(xml.METADATA, "EntitiesDescriptor"):
        raise BadMetadata("SAML Metadata XML must have an EntityDescriptor as its root")
    found = [
        each
        for each in xml.descendants(root, xml.METADATA, "EntityDescriptor")
        if xml.child(each, xml.METADATA, "IDPSSODescriptor") is not None
    ]
    if len(found) != 1:
        raise BadMetadata("SAML Metadata XML must describe exactly one identity provider")
    return found[0]


def _certificates(role: xml.Element) -> Iterator[x509.Certificate]:
    for key in xml.children(role, xml.METADATA, "KeyDescriptor"):
        if xml.attribute(key, "use") not in ("", "signing"):
            continue
        for each in xml.descendants(key, xml.SIGNATURE, "X509Certificate"):
            certificate = _certificate(xml.text(each))
            if certificate is not None:
                yield certificate


def _certificate(text: str) -> x509.Certificate | None:
    """Read a certificate whose key may sign; None for any other."""
    try:
        certificate = x509.load_der_x509_certificate(base64.b64decode("".join(text.split()), validate=True))
        key = certificate.public_key()
    except (binascii.Error, ValueError, UnsupportedAlgorithm):
        return None
    if isinstance(key, rsa.RSAPublicKey):
        return certificate if key.key_size >= _LEAST_RSA_BITS else None
    return certificate if isinstance(key, ec.EllipticCurvePublicKey) else None


def _location(role: xml.Element, binding: str) -> str:
    """Give where browsers are sent by a binding, if it is a web address."""
    for each in xml.children(role, xml.METADATA, "SingleSignOnService"):
        location = xml.attribute(each, "Location").strip()
        if xml.attribute(each, "Binding") == binding and _is_web(location):
            return location
    return ""


def _is_web(url: str) -> bool:
    if not url.isascii() or any(each <= " " or each in '\\"<>\x7f' for each in url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("https", "http") and bool(parts.hostname)


def _valid_until(*described: xml.Element) -> datetime | None:
    """Give the earliest end of what is said."""
    try:
        found = [read_moment(xml.attribute(each, "validUntil")) for each in described]
    except BadMoment:
        raise BadMetadata("SAML Metadata XML has a validUntil that is no time") from None
    return min((each for each in found if each is not None), default=None)


def _cache_duration(*described: xml.Element) -> timedelta | None:
    found = [read_span(xml.attribute(each, "cacheDuration")) for each in described]
    return min((each for each in found if each is not None), default=None)
