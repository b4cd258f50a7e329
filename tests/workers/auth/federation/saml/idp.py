"""An identity provider with keys of its own: honest, or as bad as a test wants it.

A response is written as text from a template, so that a test may say anything in it; then its parts are signed, encrypted
and packed as asked. What attackers do to a signed response stands in `wrapping.py`.
"""

import base64
import datetime as dt
import secrets
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from lxml import etree  # type: ignore[import-untyped]  # ships no types
from signxml.algorithms import CanonicalizationMethod, DigestAlgorithm, SignatureMethod
from signxml.signer import XMLSigner

SAML = "urn:oasis:names:tc:SAML:2.0:assertion"
SAMLP = "urn:oasis:names:tc:SAML:2.0:protocol"
MD = "urn:oasis:names:tc:SAML:2.0:metadata"
DS = "http://www.w3.org/2000/09/xmldsig#"
XENC = "http://www.w3.org/2001/04/xmlenc#"
XENC11 = "http://www.w3.org/2009/xmlenc11#"
NS = {"saml": SAML, "samlp": SAMLP, "md": MD, "ds": DS, "xenc": XENC}

PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
EMAIL_FORM = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
EXCLUSIVE = CanonicalizationMethod.EXCLUSIVE_XML_CANONICALIZATION_1_0

Element = Any
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@lru_cache(maxsize=8)
def rsa_pair(name: str, bits: int = 2048) -> rsa.RSAPrivateKey:
    """Return a key by a name: the same one each time."""
    del name
    return rsa.generate_private_key(65537, bits)


@lru_cache(maxsize=32)
def certificate(key: Key, *, days: int = 3650) -> x509.Certificate:
    """Make a certificate of a key that holds from a year ago for some days: the same one each time."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an identity provider")])
    begin = dt.datetime.now(dt.UTC) - dt.timedelta(days=365)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 7, begin, begin + dt.timedelta(days=days))
    return builder.sign(key, hashes.SHA256())


def stamp(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f0Z")


@dataclass
class Says:
    """What a response says; every field may be wrong."""

    issuer: str
    audience: str
    acs: str
    in_response_to: str | None = None
    now: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))
    name_id: str = "u-1"
    name_id_format: str = PERSISTENT
    attributes: Sequence[tuple[str, Sequence[str]]] = (("mail", ("u1@corp.example.org",)),)
    destination: str | None = None
    recipient: str | None = None
    lasts_s: float = 300.0
    session_ends_at: dt.datetime | None = None
    status: str = "urn:oasis:names:tc:SAML:2.0:status:Success"
    conditions: str | None = None
    confirmation: str | None = None
    authn: str | None = None
    assertion_id: str = field(default_factory=lambda: f"a{uuid.uuid4().hex}")
    response_id: str = field(default_factory=lambda: f"r{uuid.uuid4().hex}")

    def answers(self) -> str:
        return "" if self.in_response_to is None else f' InResponseTo="{self.in_response_to}"'

    def assertion(self) -> str:
        begin, end = stamp(self.now), stamp(self.now + dt.timedelta(seconds=self.lasts_s))
        recipient = self.acs if self.recipient is None else self.recipient
        conditions = (
            self.conditions
            if self.conditions is not None
            else (
                f'<saml:Conditions NotBefore="{begin}" NotOnOrAfter="{end}"><saml:AudienceRestriction>'
                f"<saml:Audience>{self.audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>"
            )
        )
        confirmation = (
            self.confirmation
            if self.confirmation is not None
            else (
                '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">'
                f'<saml:SubjectConfirmationData NotOnOrAfter="{end}" Recipient="{recipient}"{self.answers()}/>'
                "</saml:SubjectConfirmation>"
            )
        )
        ends = "" if self.session_ends_at is None else f' SessionNotOnOrAfter="{stamp(self.session_ends_at)}"'
        authn = (
            self.authn
            if self.authn is not None
            else (
                f'<saml:AuthnStatement AuthnInstant="{begin}"{ends}><saml:AuthnContext><saml:AuthnContextClassRef>'
                "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef>"
                "</saml:AuthnContext></saml:AuthnStatement>"
            )
        )
        values = "".join(
            f'<saml:Attribute Name="{name}">'
            + "".join(f"<saml:AttributeValue>{value}</saml:AttributeValue>" for value in all_values)
            + "</saml:Attribute>"
            for name, all_values in self.attributes
        )
        told = f"<saml:AttributeStatement>{values}</saml:AttributeStatement>" if values else ""
        return (
            f'<saml:Assertion xmlns:saml="{SAML}" ID="{self.assertion_id}" Version="2.0" IssueInstant="{begin}">'
            f"<saml:Issuer>{self.issuer}</saml:Issuer><saml:Subject>"
            f'<saml:NameID Format="{self.name_id_format}">{self.name_id}</saml:NameID>{confirmation}</saml:Subject>'
            f"{conditions}{authn}{told}</saml:Assertion>"
        )

    def response(self, inside: str) -> str:
        destination = self.acs if self.destination is None else self.destination
        to = f' Destination="{destination}"' if destination else ""
        return (
            f'<samlp:Response xmlns:samlp="{SAMLP}" xmlns:saml="{SAML}" ID="{self.response_id}" Version="2.0"'
            f' IssueInstant="{stamp(self.now)}"{to}{self.answers()}><saml:Issuer>{self.issuer}</saml:Issuer>'
            f'<samlp:Status><samlp:StatusCode Value="{self.status}"/></samlp:Status>{inside}</samlp:Response>'
        )


@dataclass
class Idp:
    """One identity provider. `signs` are the parts that it signs: `assertion`, `response`."""

    entity_id: str = field(default_factory=lambda: f"https://idp-{uuid.uuid4().hex[:8]}.example.org/metadata")
    key: Key = field(default_factory=lambda: rsa_pair("idp"))
    signs: tuple[str, ...] = ("assertion",)
    method: SignatureMethod = SignatureMethod.RSA_SHA256
    digest: DigestAlgorithm = DigestAlgorithm.SHA256
    canonical: CanonicalizationMethod = EXCLUSIVE
    sso_url: str = "https://idp.example.org/sso"
    certificates: tuple[x509.Certificate, ...] | None = None

    def metadata(self, *, head: str = "", role: str = "", bindings: str | None = None) -> str:
        """Write the metadata; `head` and `role` are further attributes."""
        listed = (certificate(self.key),) if self.certificates is None else self.certificates
        keys = "".join(
            '<md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>'
            f"{base64.b64encode(each.public_bytes(Encoding.DER)).decode()}"
            "</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>"
            for each in listed
        )
        places = (
            bindings
            if bindings is not None
            else "".join(
                f'<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:{each}" Location="{self.sso_url}"/>'
                for each in ("HTTP-Redirect", "HTTP-POST")
            )
        )
        return (
            f'<md:EntityDescriptor xmlns:md="{MD}" xmlns:ds="{DS}" entityID="{self.entity_id}"{head}>'
            f'<md:IDPSSODescriptor protocolSupportEnumeration="{SAMLP}"{role}>{keys}{places}</md:IDPSSODescriptor>'
            "</md:EntityDescriptor>"
        )

    def tree(self, says: Says) -> Element:
        """Write a response and sign it."""
        response = etree.fromstring(says.response(says.assertion()))
        if "assertion" in self.signs:
            response = self.signed(response, part=response.find("saml:Assertion", NS))
        return self.sealed(response)

    def encrypted(self, says: Says, to: rsa.RSAPublicKey, **how: Any) -> Element:
        """Write a response whose assertion only we can read."""
        assertion = etree.fromstring(says.assertion())
        if "assertion" in self.signs:
            assertion = self.signed(assertion)
        return self.sealed(etree.fromstring(says.response(encrypted(etree.tostring(assertion), to, **how))))

    def sealed(self, response: Element) -> Element:
        """Sign a response as a whole, if this provider does."""
        return self.signed(response) if "response" in self.signs else response

    def signed(self, element: Element, key: Any = None, part: Element | None = None) -> Element:
        """Sign an element, or a part of it, by its ID, the signature behind the issuer."""
        part = element if part is None else part
        signer = _Signer(
            signature_algorithm=self.method, digest_algorithm=self.digest, c14n_algorithm=self.canonical
        )
        holder = etree.Element(f"{{{DS}}}Signature", {"Id": "placeholder"}, nsmap={"ds": DS})
        part.insert(1, holder)
        made = signer.sign(
            element, key=key or self.key, reference_uri=f"#{part.get('ID')}", id_attribute="ID"
        )
        return etree.fromstring(etree.tostring(made))


class _Signer(XMLSigner):
    """Signs with what is not safe, too."""

    def check_deprecated_methods(self) -> None:
        pass


def encrypted(
    content: bytes,
    to: rsa.RSAPublicKey,
    *,
    cipher: str = "aes256-gcm",
    oaep: str = "sha1",
    scheme: str = "oaep",
) -> str:
    """Encrypt an element for a key."""
    secret = secrets.token_bytes(int(cipher[3:6]) // 8)
    if cipher.endswith("gcm"):
        nonce = secrets.token_bytes(12)
        data, algorithm = nonce + AESGCM(secret).encrypt(nonce, content, None), f"{XENC11}{cipher}"
    else:
        start, missing = secrets.token_bytes(16), 16 - len(content) % 16
        filled = content + secrets.token_bytes(missing - 1) + bytes([missing])
        encryptor = Cipher(algorithms.AES(secret), modes.CBC(start)).encryptor()
        data, algorithm = start + encryptor.update(filled) + encryptor.finalize(), f"{XENC}{cipher}"
    digest: hashes.HashAlgorithm = hashes.SHA1() if oaep == "sha1" else hashes.SHA256()
    names = {"sha1": f"{DS}sha1", "sha256": f"{XENC}sha256"}
    way = {"sha1": f"{XENC}rsa-oaep-mgf1p", "sha256": f"{XENC11}rsa-oaep"}[oaep]
    mask = f'<xenc11:MGF Algorithm="{XENC11}mgf1sha256"/>' if oaep == "sha256" else ""
    wrapped = to.encrypt(secret, padding.OAEP(padding.MGF1(digest), digest, None))
    if scheme == "pkcs1":
        way, wrapped = f"{XENC}rsa-1_5", to.encrypt(secret, padding.PKCS1v15())
    return (
        f'<saml:EncryptedAssertion xmlns:xenc="{XENC}" xmlns:xenc11="{XENC11}" xmlns:ds="{DS}">'
        f'<xenc:EncryptedData Type="{XENC}Element"><xenc:EncryptionMethod Algorithm="{algorithm}"/><ds:KeyInfo>'
        f'<xenc:EncryptedKey><xenc:EncryptionMethod Algorithm="{way}"><ds:DigestMethod Algorithm="{names[oaep]}"/>'
        f"{mask}</xenc:EncryptionMethod><xenc:CipherData><xenc:CipherValue>{_b64(wrapped)}</xenc:CipherValue>"
        f"</xenc:CipherData></xenc:EncryptedKey></ds:KeyInfo><xenc:CipherData><xenc:CipherValue>{_b64(data)}"
        "</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData></saml:EncryptedAssertion>"
    )


def packed(tree: Element | bytes | str) -> str:
    """Write a response as a form carries it."""
    data = (
        tree.encode() if isinstance(tree, str) else tree if isinstance(tree, bytes) else etree.tostring(tree)
    )
    return base64.b64encode(data).decode()


@dataclass(frozen=True)
class Request:
    """A request as an identity provider reads it from an address."""

    root: Element
    relay_state: str
    signed: bytes
    signature: bytes

    @property
    def id(self) -> str:
        return str(self.root.get("ID"))


def read_request(url: str) -> Request:
    """Read the address that a browser is sent to."""
    query = urlsplit(url).query
    fields = {name: values[0] for name, values in parse_qs(query, strict_parsing=True).items()}
    message = zlib.decompress(base64.b64decode(fields["SAMLRequest"]), -zlib.MAX_WBITS)
    begin = query.index("SAMLRequest=")
    signed = query[begin : query.index("&Signature=")].encode()
    return Request(
        etree.fromstring(message), fields["RelayState"], signed, base64.b64decode(fields["Signature"])
    )


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()
