"""Parses the metadata of an identity provider. Pure.

Its signing keys are trusted, if they are long enough; keys for encryption are ignored. Source: docs/reference/auth.md, section 13;
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
from workers.auth.federation.saml.xml_times import BadTime, read_duration, read_time
from workers.untrusted_xml import BadXml

_LEAST_RSA_BITS = 2048
_MOST_CERTIFICATES = 10
_MOST_ENTITY_ID = 1024


class BadMetadata(ValueError):
    """A document lacks what is needed of an identity provider. The error text is for its administrator."""


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """An identity provider: its id, its sign-in addresses and its signing certificates."""

    entity_id: str
    redirect_url: str
    """The address for requests by HTTP-Redirect; empty if it does not support that binding."""
    post_url: str
    certificates: tuple[x509.Certificate, ...]
    valid_until: datetime | None = None
    cache_duration: timedelta | None = None


def read_metadata(data: bytes) -> IdentityProvider:
    """Parse the metadata of one identity provider. Raises: BadMetadata."""
    try:
        entity = _entity(xml.parse(data))
    except BadXml as error:
        raise BadMetadata(f"SAML Metadata XML cannot be read: {error}") from None
    entity_id = xml.attribute(entity, "entityID").strip()
    if not 0 < len(entity_id) <= _MOST_ENTITY_ID:
        raise BadMetadata("SAML Metadata XML does not contain an EntityID")
    roles = [
        role
        for role in xml.children(entity, xml.METADATA, "IDPSSODescriptor")
        if xml.PROTOCOL in xml.attribute(role, "protocolSupportEnumeration").split()
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
    """Return the only descriptor of an identity provider, which may be inside a list (EntitiesDescriptor)."""
    if root.tag == xml.qualified_name(xml.METADATA, "EntityDescriptor"):
        return root
    if root.tag != xml.qualified_name(xml.METADATA, "EntitiesDescriptor"):
        raise BadMetadata("SAML Metadata XML must have an EntityDescriptor as its root")
    entities = [
        element
        for element in xml.descendants(root, xml.METADATA, "EntityDescriptor")
        if xml.child(element, xml.METADATA, "IDPSSODescriptor") is not None
    ]
    if len(entities) != 1:
        raise BadMetadata("SAML Metadata XML must describe exactly one identity provider")
    return entities[0]


def _certificates(role: xml.Element) -> Iterator[x509.Certificate]:
    for key in xml.children(role, xml.METADATA, "KeyDescriptor"):
        if xml.attribute(key, "use") not in ("", "signing"):
            continue
        for encoded in xml.descendants(key, xml.SIGNATURE, "X509Certificate"):
            certificate = _certificate(xml.text(encoded))
            if certificate is not None:
                yield certificate


def _certificate(text: str) -> x509.Certificate | None:
    """Load a certificate; None if it cannot be read or its key is too short or of another kind."""
    try:
        certificate = x509.load_der_x509_certificate(base64.b64decode("".join(text.split()), validate=True))
        key = certificate.public_key()
    except (binascii.Error, ValueError, UnsupportedAlgorithm):
        return None
    if isinstance(key, rsa.RSAPublicKey):
        return certificate if key.key_size >= _LEAST_RSA_BITS else None
    return certificate if isinstance(key, ec.EllipticCurvePublicKey) else None


def _location(role: xml.Element, binding: str) -> str:
    """Return the sign-in address for a binding; empty without an http or https address."""
    for service in xml.children(role, xml.METADATA, "SingleSignOnService"):
        location = xml.attribute(service, "Location").strip()
        if xml.attribute(service, "Binding") == binding and _is_web(location):
            return location
    return ""


def _is_web(url: str) -> bool:
    if not url.isascii() or any(sign <= " " or sign in '\\"<>\x7f' for sign in url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("https", "http") and bool(parts.hostname)


def _valid_until(*described: xml.Element) -> datetime | None:
    """Return the earliest `validUntil`."""
    try:
        ends = [read_time(xml.attribute(element, "validUntil")) for element in described]
    except BadTime:
        raise BadMetadata("SAML Metadata XML has a validUntil that is no time") from None
    return min((end for end in ends if end is not None), default=None)


def _cache_duration(*described: xml.Element) -> timedelta | None:
    spans = [read_duration(xml.attribute(element, "cacheDuration")) for element in described]
    return min((span for span in spans if span is not None), default=None)
