"""The answer of an identity provider, as a browser brings it -> the one assertion in it that is believed. Pure.

The steps: the form is the plain one (one response, one assertion as its child, every id once, signatures only where
they belong), or it is refused before anything is read; each signature is checked, and there must be one over the
response or the assertion; from there on only what was signed is looked at; then what it says (`assertion.py`).
Source: reference page "auth", section 13; SAML core, 3.2.2 and 5; SAML bindings, 3.5.
"""

import base64
import binascii
from collections import Counter
from dataclasses import dataclass

from workers.auth.federation.saml import xml
from workers.auth.federation.saml.assertion import (
    SKEW,
    Assertion,
    BadResponse,
    Wanted,
    check_answers,
    read_assertion,
)
from workers.auth.federation.saml.decryption import CannotDecrypt, decrypted
from workers.auth.federation.saml.metadata import IdentityProvider
from workers.auth.federation.saml.moments import BadMoment, read_moment
from workers.auth.federation.saml.service_provider import ServiceProvider
from workers.auth.federation.saml.signature import NotSigned, signature_of, signed_part

_SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"
_IDS = frozenset({"id", "assertionid"})
_MOST_BYTES = 512 * 1024
_NOT_READ = "its encrypted assertion cannot be read"


@dataclass(frozen=True, slots=True)
class Response:
    """A response that was parsed; nothing in it is believed yet."""

    root: xml.Element

    @property
    def issuer(self) -> str:
        """Who says that he wrote it: by whose keys it has to be checked."""
        issuer = xml.text(xml.child(self.root, xml.ASSERTION, "Issuer"))
        inner = xml.child(self.root, xml.ASSERTION, "Assertion")
        if not issuer and inner is not None:
            issuer = xml.text(xml.child(inner, xml.ASSERTION, "Issuer"))
        return issuer


def parse_response(text: str) -> Response:
    """Read the field `SAMLResponse` of a form. Raises: BadResponse."""
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise BadResponse("it is no base64") from None
    try:
        root = xml.parse(data, _MOST_BYTES)
    except xml.BadXml as error:
        raise BadResponse(str(error)) from None
    if root.tag != xml.name(xml.PROTOCOL, "Response") or xml.attribute(root, "Version") != "2.0":
        raise BadResponse("it is no response of SAML 2.0")
    return Response(root)


def believed(response: Response, idp: IdentityProvider, us: ServiceProvider, wanted: Wanted) -> Assertion:
    """Give the assertion of a response that an identity provider signed. Raises: BadResponse."""
    _refuse_odd_form(response.root)
    _check_status(response.root)
    root, is_signed = response.root, signature_of(response.root) is not None
    try:
        if is_signed:
            root = signed_part(root, idp.certificates, wanted.now)
        _check_response(root, wanted, is_signed=is_signed)
        assertion = _signed_assertion(root, idp, us, wanted, is_signed=is_signed)
    except NotSigned as error:
        raise BadResponse(str(error)) from None
    except BadMoment:
        raise BadResponse("it has a time that is none") from None
    return read_assertion(assertion, wanted)


def _refuse_odd_form(root: xml.Element) -> None:
    """Raise unless there is one response with one assertion, and nothing by which one could stand for another."""
    assertions = [
        *xml.descendants(root, xml.ASSERTION, "Assertion"),
        *xml.descendants(root, xml.ASSERTION, "EncryptedAssertion"),
    ]
    if len(xml.descendants(root, xml.PROTOCOL, "Response")) != 1:
        raise BadResponse("it must be one response")
    # A refusal has none; it is told apart by its status.
    if len(assertions) > 1 or any(each.getparent() is not root for each in assertions):
        raise BadResponse("it must have one assertion")
    _refuse_odd_signatures(root, [root, *assertions])


def _refuse_odd_signatures(root: xml.Element, signed: list[xml.Element]) -> None:
    """Raise if an id stands twice, or a signature anywhere but in what may be signed."""
    ids = Counter(
        value
        for each in root.iter()
        for name, value in each.attrib.items()
        if name.rpartition("}")[2].lower() in _IDS
    )
    if ids and max(ids.values()) > 1:
        raise BadResponse("an ID stands in it twice")
    if any(each.getparent() not in signed for each in xml.descendants(root, xml.SIGNATURE, "Signature")):
        raise BadResponse("it has a signature where none belongs")


def _check_status(root: xml.Element) -> None:
    status = xml.child(root, xml.PROTOCOL, "Status")
    code = None if status is None else xml.child(status, xml.PROTOCOL, "StatusCode")
    if code is None or xml.attribute(code, "Value") != _SUCCESS:
        raise BadResponse("the identity provider did not sign the user in")


def _check_response(root: xml.Element, wanted: Wanted, *, is_signed: bool) -> None:
    issuer = xml.text(xml.child(root, xml.ASSERTION, "Issuer"))
    if issuer and issuer != wanted.issuer:
        raise BadResponse("it is of another issuer")
    destination = xml.attribute(root, "Destination")
    if (destination or is_signed) and destination != wanted.recipient:
        raise BadResponse("it is for another destination")
    issued_at = read_moment(xml.attribute(root, "IssueInstant"))
    if issued_at is None or issued_at > wanted.now + SKEW:
        raise BadResponse("it was issued in the future")
    check_answers(root, wanted)


def _signed_assertion(
    root: xml.Element, idp: IdentityProvider, us: ServiceProvider, wanted: Wanted, *, is_signed: bool
) -> xml.Element:
    """Give the assertion, which is signed itself or by the response around it. Raises: BadResponse, NotSigned."""
    assertion = xml.child(root, xml.ASSERTION, "Assertion")
    encrypted = xml.child(root, xml.ASSERTION, "EncryptedAssertion")
    if assertion is None and encrypted is None:
        raise BadResponse("it must have one assertion")
    if assertion is not None:
        return _signed(assertion, idp, wanted, is_signed=is_signed)
    if not us.allows_encryption:
        raise BadResponse("encrypted assertions are not taken")
    try:
        opened = decrypted(encrypted, us.keys)
        if opened.tag != xml.name(xml.ASSERTION, "Assertion"):
            raise BadResponse(_NOT_READ)
        _refuse_odd_form_inside(opened)
        return _signed(opened, idp, wanted, is_signed=is_signed)
    except (CannotDecrypt, NotSigned, BadResponse):
        # One answer, whatever came out: it would tell of the secret content.
        raise BadResponse(_NOT_READ) from None


def _refuse_odd_form_inside(assertion: xml.Element) -> None:
    nested = xml.descendants(assertion, xml.ASSERTION, "Assertion")
    if len(nested) != 1 or xml.descendants(assertion, xml.ASSERTION, "EncryptedAssertion"):
        raise BadResponse("it must have one assertion")
    _refuse_odd_signatures(assertion, [assertion])


def _signed(assertion: xml.Element, idp: IdentityProvider, wanted: Wanted, *, is_signed: bool) -> xml.Element:
    if signature_of(assertion) is not None:
        return signed_part(assertion, idp.certificates, wanted.now)
    if not is_signed:
        raise NotSigned("neither it nor its assertion is signed")
    return assertion
