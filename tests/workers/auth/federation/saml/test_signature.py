"""What counts as signed, and that nothing else is read."""

import copy
import datetime as dt
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from lxml import etree  # type: ignore[import-untyped]  # ships no types
from signxml.algorithms import CanonicalizationMethod, DigestAlgorithm, SignatureMethod
from signxml.signer import XMLSigner

from tests.workers.auth.federation.saml.idp import (
    DS,
    NS,
    SAML,
    Element,
    Idp,
    Key,
    Says,
    certificate,
    rsa_pair,
)
from workers.auth.federation.saml.signature import NotSigned, verify_element

NOW = dt.datetime.now(dt.UTC)
CERTIFICATE = certificate(rsa_pair("idp"))
CURVE = ec.generate_private_key(ec.SECP256R1())


def assertion(idp: Idp | None = None, **says: Any) -> Element:
    """Return an assertion that an identity provider signed."""
    root = (idp or Idp()).tree(Says("https://i", "https://a", "https://acs", **says))
    return root.find("saml:Assertion", NS)


def check(element: Element, *certificates: x509.Certificate, now: dt.datetime = NOW) -> Element:
    return verify_element(element, certificates or (CERTIFICATE,), now)


def refused(element: Element, *certificates: x509.Certificate, now: dt.datetime = NOW) -> str:
    with pytest.raises(NotSigned) as found:
        check(element, *certificates, now=now)
    return str(found.value)


def name_id(element: Element) -> str:
    return str(element.findtext(".//saml:NameID", namespaces=NS))


# What is taken


@pytest.mark.parametrize(
    ("key", "method", "digest"),
    [
        (rsa_pair("idp"), SignatureMethod.RSA_SHA256, DigestAlgorithm.SHA256),
        (rsa_pair("idp"), SignatureMethod.RSA_SHA512, DigestAlgorithm.SHA512),
        (rsa_pair("idp"), SignatureMethod.SHA256_RSA_MGF1, DigestAlgorithm.SHA384),
        (CURVE, SignatureMethod.ECDSA_SHA256, DigestAlgorithm.SHA256),
    ],
)
@pytest.mark.parametrize(
    "canonical",
    [
        CanonicalizationMethod.EXCLUSIVE_XML_CANONICALIZATION_1_0,
        CanonicalizationMethod.CANONICAL_XML_1_0,
        CanonicalizationMethod.CANONICAL_XML_1_1,
    ],
)
def test_what_a_provider_signed_is_given(
    key: Key, method: SignatureMethod, digest: DigestAlgorithm, canonical: CanonicalizationMethod
):
    idp = Idp(key=key, method=method, digest=digest, canonical=canonical)

    found = check(assertion(idp), certificate(key))

    assert name_id(found) == "u-1"
    assert found.find("ds:Signature", NS) is None


def test_any_of_the_keys_will_do():
    others = (certificate(rsa_pair("foreign")), certificate(CURVE), CERTIFICATE)

    assert name_id(check(assertion(), *others)) == "u-1"


# What is not


def test_a_foreign_key_signs_nothing_even_if_its_certificate_comes_along():
    foreign = rsa_pair("foreign")
    element = assertion(Idp(signs=()))
    holder = etree.Element(f"{{{DS}}}Signature", {"Id": "placeholder"}, nsmap={"ds": DS})
    element.insert(1, holder)
    signed = XMLSigner().sign(
        element,
        key=foreign,
        cert=[certificate(foreign)],
        reference_uri=f"#{element.get('ID')}",
        id_attribute="ID",
    )

    assert "no valid key" in refused(signed)


def test_a_certificate_that_is_over_signs_nothing():
    short = certificate(rsa_pair("idp"), days=366)

    assert name_id(check(assertion(), short)) == "u-1"
    assert "no valid key" in refused(assertion(), short, now=NOW + dt.timedelta(days=2))


@pytest.mark.parametrize(
    ("method", "digest"),
    [
        (SignatureMethod.RSA_SHA1, DigestAlgorithm.SHA256),
        (SignatureMethod.RSA_SHA256, DigestAlgorithm.SHA1),
        (SignatureMethod.RSA_SHA1, DigestAlgorithm.SHA1),
        (SignatureMethod.RSA_SHA224, DigestAlgorithm.SHA256),
    ],
)
def test_weak_algorithms_are_refused(method: SignatureMethod, digest: DigestAlgorithm):
    assert "no valid key" in refused(assertion(Idp(method=method, digest=digest)))


@pytest.mark.parametrize("encoding", [Encoding.DER, Encoding.PEM])
def test_a_public_key_is_no_shared_secret(encoding: Encoding):
    from_key = CERTIFICATE.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
    element = assertion(Idp(signs=()))
    signed = Idp(method=SignatureMethod.HMAC_SHA256).signed(element, key=from_key)

    assert "no valid key" in refused(signed)


def test_nothing_that_was_changed_is_given():
    element = assertion()
    element.find(".//saml:NameID", NS).text = "admin"

    assert "no valid key" in refused(element)


@pytest.mark.parametrize("signs", [(), ("response",)])
def test_an_element_without_a_signature_of_its_own_is_not_signed(signs: tuple[str, ...]):
    assert "one signature" in refused(assertion(Idp(signs=signs)))


def test_two_signatures_are_refused():
    element = assertion()
    element.append(copy.deepcopy(element.find("ds:Signature", NS)))

    assert "one signature" in refused(element)


def test_a_reference_to_something_else_is_refused():
    element = assertion()
    inner = etree.SubElement(element, f"{{{SAML}}}Advice")
    true = assertion()
    inner.append(true)
    element.replace(element.find("ds:Signature", NS), true.find("ds:Signature", NS))

    assert "own ID" in refused(element)


@pytest.mark.parametrize("uri", ["", "#", "#xpointer(/)", "##{id}", "http://127.0.0.1:1/", None])
def test_a_reference_is_by_id_only(uri: str | None):
    element = assertion()
    reference = element.find(".//ds:Reference", NS)
    if uri is None:
        del reference.attrib["URI"]
    else:
        reference.set("URI", uri.replace("{id}", element.get("ID")))

    assert "own ID" in refused(element)


def test_two_references_are_refused():
    element = assertion()
    reference = element.find(".//ds:Reference", NS)
    reference.addnext(copy.deepcopy(reference))

    assert "one reference" in refused(element)


@pytest.mark.parametrize(
    "algorithm",
    [
        "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
        "http://www.w3.org/2000/09/xmldsig#base64",
        "http://www.w3.org/TR/1999/REC-xslt-19991116",
        "http://www.w3.org/TR/1999/REC-xpath-19991116",
        "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
        "",
    ],
)
def test_other_transforms_are_refused(algorithm: str):
    element = assertion()
    element.findall(".//ds:Transform", NS)[1].set("Algorithm", algorithm)

    assert "transforms" in refused(element)


def test_a_canonical_form_with_comments_is_refused():
    idp = Idp(canonical=CanonicalizationMethod.EXCLUSIVE_XML_CANONICALIZATION_1_0_WITH_COMMENTS)

    assert "transforms" in refused(assertion(idp))


def test_an_object_in_a_signature_is_refused():
    element = assertion()
    etree.SubElement(element.find("ds:Signature", NS), f"{{{DS}}}Object").append(assertion())

    assert "more than a signature" in refused(element)


@pytest.mark.parametrize("value", ["", "no base64 !", "AAAA", None])
def test_a_value_that_is_none_is_refused(value: str | None):
    element = assertion()
    element.find(".//ds:SignatureValue", NS).text = value

    assert "no valid key" in refused(element)


@pytest.mark.parametrize(
    "part", ["SignedInfo", "SignatureValue", "SignatureMethod", "DigestMethod", "DigestValue", "Reference"]
)
def test_a_signature_without_one_of_its_parts_is_refused(part: str):
    element = assertion()
    found = element.find(f".//ds:{part}", NS)
    found.getparent().remove(found)

    assert refused(element)
