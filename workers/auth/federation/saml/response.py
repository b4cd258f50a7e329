"""A SAML response that a browser brings -> the one assertion in it that the identity provider signed. Pure.

The steps: check the form, before anything is read (one response, one assertion as its child, every ID once, signatures only
where they belong: against signature wrapping, see `signature.py`); verify each signature, at least one over the response or
the assertion; from there on read only the verified element; check what it says (`assertion.py`).
Source: docs/reference/auth.md, section 13; SAML core, 3.2.2 and 5; SAML bindings, 3.5.
"""

import base64
import binascii
from collections import Counter
from dataclasses import dataclass

from workers.auth.federation.saml import xml
from workers.auth.federation.saml.assertion import (
    SKEW,
    BadResponse,
    ExpectedAssertion,
    SamlAssertion,
    check_answers,
    read_assertion,
)
from workers.auth.federation.saml.decryption import CannotDecrypt, decrypt
from workers.auth.federation.saml.metadata import IdentityProvider
from workers.auth.federation.saml.service_provider import ServiceProvider
from workers.auth.federation.saml.signature import NotSigned, signature_of, verify_element
from workers.auth.federation.saml.xml_times import BadTime, read_time
from workers.untrusted_xml import BadXml

_SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"
_IDS = frozenset({"id", "assertionid"})
_MOST_BYTES = 512 * 1024
_NOT_READ = "its encrypted assertion cannot be read"


@dataclass(frozen=True, slots=True)
class SamlResponse:
    """A parsed response; nothing in it is verified yet."""

    root: xml.Element

    @property
    def issuer(self) -> str:
        """The issuer that it claims, whose keys must verify it."""
        issuer = xml.text(xml.child(self.root, xml.ASSERTION, "Issuer"))
        inner = xml.child(self.root, xml.ASSERTION, "Assertion")
        if not issuer and inner is not None:
            issuer = xml.text(xml.child(inner, xml.ASSERTION, "Issuer"))
        return issuer


def parse_response(text: str) -> SamlResponse:
    """Parse the form field `SAMLResponse`. Raises: BadResponse."""
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise BadResponse("it is no base64") from None
    try:
        root = xml.parse(data, _MOST_BYTES)
    except BadXml as error:
        raise BadResponse(str(error)) from None
    if root.tag != xml.qualified_name(xml.PROTOCOL, "Response") or xml.attribute(root, "Version") != "2.0":
        raise BadResponse("it is no response of SAML 2.0")
    return SamlResponse(root)


def verify_response(
    response: SamlResponse, idp: IdentityProvider, us: ServiceProvider, expected: ExpectedAssertion
) -> SamlAssertion:
    """Verify a response and return its assertion. Raises: BadResponse."""
    _refuse_odd_form(response.root)
    _check_status(response.root)
    root, is_signed = response.root, signature_of(response.root) is not None
    try:
        if is_signed:
            root = verify_element(root, idp.certificates, expected.now)
        _check_response(root, expected, is_signed=is_signed)
        assertion = _signed_assertion(root, idp, us, expected, is_signed=is_signed)
    except NotSigned as error:
        raise BadResponse(str(error)) from None
    except BadTime:
        raise BadResponse("it has a time that is none") from None
    return read_assertion(assertion, expected)


def _refuse_odd_form(root: xml.Element) -> None:
    """Check that there is one response with one assertion, and nothing that could be taken for another. Raises: BadResponse."""
    assertions = [
        *xml.descendants(root, xml.ASSERTION, "Assertion"),
        *xml.descendants(root, xml.ASSERTION, "EncryptedAssertion"),
    ]
    if len(xml.descendants(root, xml.PROTOCOL, "Response")) != 1:
        raise BadResponse("it must be one response")
    # An unsuccessful response comes without an assertion; `_check_status` rejects it.
    if len(assertions) > 1 or any(assertion.getparent() is not root for assertion in assertions):
        raise BadResponse("it must have one assertion")
    _refuse_odd_signatures(root, [root, *assertions])


def _refuse_odd_signatures(root: xml.Element, signed: list[xml.Element]) -> None:
    """Check that no ID occurs twice, and signatures only in `signed`. Raises: BadResponse."""
    ids = Counter(
        value
        for element in root.iter()
        for name, value in element.attrib.items()
        if name.rpartition("}")[2].lower() in _IDS
    )
    if ids and max(ids.values()) > 1:
        raise BadResponse("an ID stands in it twice")
    if any(
        signature.getparent() not in signed for signature in xml.descendants(root, xml.SIGNATURE, "Signature")
    ):
        raise BadResponse("it has a signature where none belongs")


def _check_status(root: xml.Element) -> None:
    status = xml.child(root, xml.PROTOCOL, "Status")
    code = None if status is None else xml.child(status, xml.PROTOCOL, "StatusCode")
    if code is None or xml.attribute(code, "Value") != _SUCCESS:
        raise BadResponse("the identity provider did not sign the user in")


def _check_response(root: xml.Element, expected: ExpectedAssertion, *, is_signed: bool) -> None:
    issuer = xml.text(xml.child(root, xml.ASSERTION, "Issuer"))
    if issuer and issuer != expected.issuer:
        raise BadResponse("it is of another issuer")
    destination = xml.attribute(root, "Destination")
    if (destination or is_signed) and destination != expected.recipient:
        raise BadResponse("it is for another destination")
    issued_at = read_time(xml.attribute(root, "IssueInstant"))
    if issued_at is None or issued_at > expected.now + SKEW:
        raise BadResponse("it was issued in the future")
    check_answers(root, expected)


def _signed_assertion(
    root: xml.Element,
    idp: IdentityProvider,
    us: ServiceProvider,
    expected: ExpectedAssertion,
    *,
    is_signed: bool,
) -> xml.Element:
    """Return the assertion, signed itself or as part of the response. Raises: BadResponse, NotSigned."""
    assertion = xml.child(root, xml.ASSERTION, "Assertion")
    encrypted = xml.child(root, xml.ASSERTION, "EncryptedAssertion")
    if assertion is None and encrypted is None:
        raise BadResponse("it must have one assertion")
    if assertion is not None:
        return _signed(assertion, idp, expected, is_signed=is_signed)
    if not us.allows_encryption:
        raise BadResponse("encrypted assertions are not taken")
    try:
        opened = decrypt(encrypted, us.keys)
        if opened.tag != xml.qualified_name(xml.ASSERTION, "Assertion"):
            raise BadResponse(_NOT_READ)
        _refuse_odd_form_inside(opened)
        return _signed(opened, idp, expected, is_signed=is_signed)
    except (CannotDecrypt, NotSigned, BadResponse):
        # One error for all cases: differences would be an oracle about the decrypted content.
        raise BadResponse(_NOT_READ) from None


def _refuse_odd_form_inside(assertion: xml.Element) -> None:
    nested = xml.descendants(assertion, xml.ASSERTION, "Assertion")
    if len(nested) != 1 or xml.descendants(assertion, xml.ASSERTION, "EncryptedAssertion"):
        raise BadResponse("it must have one assertion")
    _refuse_odd_signatures(assertion, [assertion])


def _signed(
    assertion: xml.Element, idp: IdentityProvider, expected: ExpectedAssertion, *, is_signed: bool
) -> xml.Element:
    if signature_of(assertion) is not None:
        return verify_element(assertion, idp.certificates, expected.now)
    if not is_signed:
        raise NotSigned("neither it nor its assertion is signed")
    return assertion
