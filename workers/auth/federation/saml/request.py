"""The authentication request that a browser takes to an identity provider: XML, deflated into a URL, signed. Pure.

Source: docs/reference/auth.md, section 13; SAML core, 3.4.1; SAML bindings, 3.4.4.
"""

import base64
import secrets
import zlib
from datetime import datetime
from urllib.parse import quote

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from workers.auth.federation.saml import xml
from workers.auth.federation.saml.service_provider import PERSISTENT, ServiceProvider
from workers.auth.federation.saml.xml_times import write_time

_ALGORITHM = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
_PREFIXES: dict[str | None, str] = {"samlp": xml.PROTOCOL, "saml": xml.ASSERTION}


def new_request_id() -> str:
    """Draw the id of a request: 160 random bits, as a name that XML allows."""
    return f"id-{secrets.token_hex(20)}"


def authn_request(
    us: ServiceProvider, destination: str, id: str, now: datetime, name_id_format: str | None
) -> bytes:
    """Serialize an authentication request. The default format of the NameID is persistent."""
    root = xml.new_root(
        xml.PROTOCOL,
        "AuthnRequest",
        _PREFIXES,
        ID=id,
        Version="2.0",
        IssueInstant=write_time(now),
        Destination=destination,
        AssertionConsumerServiceURL=us.acs_url,
        ProtocolBinding=xml.POST_BINDING,
    )
    xml.add(root, xml.ASSERTION, "Issuer", us.entity_id)
    form = name_id_format or PERSISTENT
    xml.add(root, xml.PROTOCOL, "NameIDPolicy", Format=form, AllowCreate="true")
    return xml.serialize(root)


def redirect_address(destination: str, message: bytes, relay_state: str, key: RSAPrivateKey) -> str:
    """Return the identity provider's URL with the signed request (binding HTTP-Redirect)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = base64.b64encode(packer.compress(message) + packer.flush()).decode()
    fields = (("SAMLRequest", packed), ("RelayState", relay_state), ("SigAlg", _ALGORITHM))
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in fields)
    signature = base64.b64encode(key.sign(query.encode(), PKCS1v15(), SHA256())).decode()
    bare = destination.partition("#")[0]
    joint = "" if bare.endswith(("?", "&")) else "&" if "?" in bare else "?"
    return f"{bare}{joint}{query}&Signature={quote(signature, safe='')}"
