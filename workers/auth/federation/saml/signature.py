"""Verifies XML signatures, and returns exactly the element that an identity provider signed. Pure.

The attack to prevent is signature wrapping: a valid signature whose reference points to one element while the reader takes
another one. So the element is passed to the library as a document of its own, where a reference can mean nothing else. Its
signature must have the one form that SAML allows: a child of the signed element, one reference to that element's ID, only the
transforms enveloped-signature and canonicalization. And only the element that the library returns as signed is read later. Source: SAML core, 5.4; XML Signature, 8.1.
"""

from collections.abc import Sequence
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from lxml.etree import LxmlError  # type: ignore[import-untyped]  # ships no types
from signxml.algorithms import DigestAlgorithm, SignatureMethod
from signxml.exceptions import SignXMLException
from signxml.verifier import SignatureConfiguration, VerifyResult, XMLVerifier

from workers.auth.federation.saml import xml
from workers.untrusted_xml import untrusted_parser

_METHODS = frozenset(
    {
        SignatureMethod.RSA_SHA256,
        SignatureMethod.RSA_SHA384,
        SignatureMethod.RSA_SHA512,
        SignatureMethod.SHA256_RSA_MGF1,
        SignatureMethod.SHA384_RSA_MGF1,
        SignatureMethod.SHA512_RSA_MGF1,
        SignatureMethod.ECDSA_SHA256,
        SignatureMethod.ECDSA_SHA384,
        SignatureMethod.ECDSA_SHA512,
    }
)
_DIGESTS = frozenset({DigestAlgorithm.SHA256, DigestAlgorithm.SHA384, DigestAlgorithm.SHA512})
_ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"
_CANONICAL = frozenset(
    {
        "http://www.w3.org/2001/10/xml-exc-c14n#",
        "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
        "http://www.w3.org/2006/12/xml-c14n11",
    }
)
"""Canonical forms without comments: a comment could split a text that is read."""
_PARTS = ("SignedInfo", "SignatureValue", "KeyInfo")


class NotSigned(Exception):
    """No key of the identity provider signed this element, or its signature has a form that SAML does not allow."""


def signature_of(element: xml.Element) -> xml.Element | None:
    """Return the signature of an element: its first child of that name."""
    return xml.child(element, xml.SIGNATURE, "Signature")


def verify_element(
    element: xml.Element, certificates: Sequence[x509.Certificate], now: datetime
) -> xml.Element:
    """Return an element as signed by the key of one of the certificates. Raises: NotSigned."""
    _refuse_odd_form(element)
    data = xml.serialize(element)
    for certificate in certificates:
        signed = _verified(data, certificate, now)
        if signed is not None and (signed.tag, signed.get("ID")) == (element.tag, element.get("ID")):
            return signed
    raise NotSigned("its signature is of no valid key of the identity provider")


def _verified(data: bytes, certificate: x509.Certificate, now: datetime) -> xml.Element | None:
    """Return the element that the key of a certificate signed; None if it did not sign it."""
    expected = SignatureConfiguration(
        location="./",
        signature_methods=_METHODS,
        digest_algorithms=_DIGESTS,
        verification_time=now,
        ignore_ambiguous_key_info=True,  # the certificate decides; the key that the signature names is ignored
    )
    try:
        result = XMLVerifier().verify(
            data, x509_cert=certificate, parser=untrusted_parser(), id_attribute="ID", expect_config=expected
        )
    # The library also raises errors of decoders on malformed input: bad base64, missing values.
    except (SignXMLException, InvalidSignature, UnsupportedAlgorithm, LxmlError, ValueError, TypeError):
        return None
    return result.signed_xml if isinstance(result, VerifyResult) else None


def _refuse_odd_form(element: xml.Element) -> None:
    """Check that the element has one signature, of the form that SAML allows. Raises: NotSigned."""
    id, signatures = xml.attribute(element, "ID"), xml.children(element, xml.SIGNATURE, "Signature")
    if not id or len(signatures) != 1:
        raise NotSigned("it must have an ID and one signature")
    parts = [part.tag for part in xml.elements(signatures[0])]
    if any(tag not in {xml.qualified_name(xml.SIGNATURE, part) for part in _PARTS} for tag in parts):
        raise NotSigned("its signature holds more than a signature")
    infos = xml.children(signatures[0], xml.SIGNATURE, "SignedInfo")
    references = [reference for info in infos for reference in xml.children(info, xml.SIGNATURE, "Reference")]
    if len(infos) != 1 or len(references) != 1 or xml.attribute(references[0], "URI") != f"#{id}":
        raise NotSigned("its signature must have one reference, to its own ID")
    method = xml.child(infos[0], xml.SIGNATURE, "CanonicalizationMethod")
    used = [
        xml.attribute(transform, "Algorithm")
        for transform in xml.descendants(references[0], xml.SIGNATURE, "Transform")
    ]
    canonical = [algorithm for algorithm in used if algorithm != _ENVELOPED]
    if (
        method is None
        or xml.attribute(method, "Algorithm") not in _CANONICAL
        or used.count(_ENVELOPED) != 1
        or len(canonical) > 1
        or not _CANONICAL.issuperset(canonical)
    ):
        raise NotSigned("its signature has transforms that SAML does not allow")
