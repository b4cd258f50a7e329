"""Our side of SAML, the service provider: entity id, keys, and the metadata for identity providers. Pure.

The certificate is derived from the key alone (fixed dates and serial number), so that every worker returns the same one. Source: docs/reference/auth.md,
section 13; SAML metadata, 2.4.4.
"""

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_der_private_key
from cryptography.x509.oid import NameOID

from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from workers.auth.federation.saml import xml
from workers.auth.federation.saml.xml_times import write_time
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError

PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
EMAIL_FORM = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
UNSPECIFIED = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified"

_FROM, _TO = datetime(1970, 1, 1, tzinfo=UTC), datetime(2170, 1, 1, tzinfo=UTC)
_PREFIXES: dict[str | None, str] = {"md": xml.METADATA, "ds": xml.SIGNATURE}


@dataclass(frozen=True, slots=True)
class ServiceProvider:
    """This service as a service provider. `keys` are the current one and, during a rotation, the next one."""

    entity_id: str
    acs_url: str
    keys: tuple[RSAPrivateKey, ...] = field(repr=False)
    certificates: tuple[x509.Certificate, ...]
    allows_encryption: bool = False

    @property
    def key(self) -> RSAPrivateKey:
        """The key that signs."""
        return self.keys[0]


def service_provider(own: Auth) -> ServiceProvider:
    """Return the service provider of the settings. Raises: AuthError (404) if SAML is disabled."""
    saml = own.saml
    if not saml.enabled or saml.private_key is None:
        raise rejections.SAML_DISABLED()
    base = (saml.external_url or own.external_url).rstrip("/")
    host = urlsplit(base).hostname or "localhost"
    secrets = [secret for secret in (saml.private_key, saml.private_key_next) if secret]
    return ServiceProvider(
        entity_id=f"{base}/sso/saml/metadata",
        acs_url=f"{base}/sso/saml/acs",
        keys=tuple(_key(secret) for secret in secrets),
        certificates=tuple(_certificate(secret, host) for secret in secrets),
        allows_encryption=saml.allow_encrypted_assertions,
    )


def own_metadata(us: ServiceProvider, now: datetime, lasts: timedelta) -> bytes:
    """Serialize our metadata, valid for a time (`lasts`)."""
    root = xml.new_root(
        xml.METADATA,
        "EntityDescriptor",
        _PREFIXES,
        entityID=us.entity_id,
        validUntil=write_time(now + lasts),
    )
    role = xml.add(
        root,
        xml.METADATA,
        "SPSSODescriptor",
        AuthnRequestsSigned="true",
        WantAssertionsSigned="true",
        protocolSupportEnumeration=xml.PROTOCOL,
    )
    for use in ("signing", "encryption") if us.allows_encryption else ("signing",):
        for certificate in us.certificates:
            key = xml.add(role, xml.METADATA, "KeyDescriptor", use=use)
            data = xml.add(xml.add(key, xml.SIGNATURE, "KeyInfo"), xml.SIGNATURE, "X509Data")
            der = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()
            xml.add(data, xml.SIGNATURE, "X509Certificate", der)
    for form in (EMAIL_FORM, PERSISTENT):
        xml.add(role, xml.METADATA, "NameIDFormat", form)
    xml.add(
        role,
        xml.METADATA,
        "AssertionConsumerService",
        Binding=xml.POST_BINDING,
        Location=us.acs_url,
        index="1",
        isDefault="true",
    )
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + xml.serialize(root)


@lru_cache(maxsize=8)
def _key(secret: Secret) -> RSAPrivateKey:
    """Load a private key; the settings have checked only its base64. Raises: AuthError (500) if it is not an RSA key."""
    try:
        key = load_der_private_key(base64.b64decode("".join(secret.reveal().split())), None)
    except ValueError:
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise AuthError(ErrorCode.UNEXPECTED_FAILURE, "A private key of auth.saml cannot be used")
    return key


@lru_cache(maxsize=8)
def _certificate(secret: Secret, host: str) -> x509.Certificate:
    """Return the self-signed certificate of a key, the same one each time."""
    key = _key(secret)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"SAML 2.0 for {host}"[:64])])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, _FROM, _TO)
    return builder.sign(key, SHA256())
