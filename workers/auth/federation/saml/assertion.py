"""What a verified assertion says of a user, and whether it is said to us, now, and for this sign-in. Pure.

Comes in: the assertion as it was signed. Source: SAML core, 2.3 to 2.7; SAML profiles, 4.1.4.2 and 4.1.4.3.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.auth.federation.saml import xml
from workers.auth.federation.saml.moments import BadMoment, read_moment
from workers.auth.federation.saml.service_provider import UNSPECIFIED

SKEW = timedelta(seconds=60)
"""How far the clock of an identity provider may be from ours."""
_BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
_CONDITIONS = frozenset(
    xml.name(xml.ASSERTION, local) for local in ("AudienceRestriction", "OneTimeUse", "ProxyRestriction")
)


class BadResponse(Exception):
    """A response is not believed. Its text says why, in our own words."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One statement about the user, with its values in their order."""

    name: str
    friendly_name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Assertion:
    """What an identity provider vouches for. `expires_at` is when nobody would believe it again."""

    id: str
    name_id: str
    name_id_format: str
    attributes: tuple[Attribute, ...]
    expires_at: datetime
    session_ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an assertion must say: of whom, to whom, where, and in answer to what; None if nobody asked."""

    issuer: str
    audience: str
    recipient: str
    request_id: str | None
    now: datetime


def read_assertion(element: xml.Element, wanted: Wanted) -> Assertion:
    """Read an assertion that is signed. Raises: BadResponse."""
    try:
        return _read(element, wanted)
    except BadMoment:
        raise BadResponse("it has a time that is none") from None


def check_answers(element: xml.Element, wanted: Wanted) -> None:
    """Raise unless an element answers our request, or none if there was none. Raises: BadResponse."""
    answered = xml.attribute(element, "InResponseTo")
    if wanted.request_id is None and answered:
        raise BadResponse("it answers a request that is not known")
    if wanted.request_id is not None and answered != wanted.request_id:
        raise BadResponse("it answers another request")


def _read(element: xml.Element, wanted: Wanted) -> Assertion:
    id, issued_at = xml.attribute(element, "ID"), read_moment(xml.attribute(element, "IssueInstant"))
    if xml.attribute(element, "Version") != "2.0" or not id or issued_at is None:
        raise BadResponse("it is no assertion of SAML 2.0")
    if issued_at > wanted.now + SKEW:
        raise BadResponse("it was issued in the future")
    if xml.text(xml.child(element, xml.ASSERTION, "Issuer")) != wanted.issuer:
        raise BadResponse("it is of another issuer")
    conditions_end = _check_conditions(element, wanted)
    subject = xml.child(element, xml.ASSERTION, "Subject")
    if subject is None:
        raise BadResponse("it names no subject")
    confirmed_until = _confirmed_until(subject, wanted)
    name_id = xml.child(subject, xml.ASSERTION, "NameID")
    return Assertion(
        id=id,
        name_id=xml.text(name_id),
        name_id_format=UNSPECIFIED if name_id is None else xml.attribute(name_id, "Format") or UNSPECIFIED,
        attributes=_attributes(element),
        expires_at=min(confirmed_until, conditions_end or confirmed_until) + SKEW,
        session_ends_at=_session_end(element, wanted.now),
    )


def _check_conditions(element: xml.Element, wanted: Wanted) -> datetime | None:
    """Check when and for whom an assertion holds, and give until when."""
    found = xml.children(element, xml.ASSERTION, "Conditions")
    if len(found) != 1:
        raise BadResponse("it must have conditions")
    if any(each.tag not in _CONDITIONS for each in xml.elements(found[0])):
        raise BadResponse("it has a condition that is not known")
    begin = read_moment(xml.attribute(found[0], "NotBefore"))
    end = read_moment(xml.attribute(found[0], "NotOnOrAfter"))
    if begin is not None and begin > wanted.now + SKEW:
        raise BadResponse("it does not hold yet")
    if end is not None and end <= wanted.now - SKEW:
        raise BadResponse("it has expired")
    restrictions = xml.children(found[0], xml.ASSERTION, "AudienceRestriction")
    audiences = [
        {xml.text(each) for each in xml.children(one, xml.ASSERTION, "Audience")} for one in restrictions
    ]
    if not audiences or any(wanted.audience not in each for each in audiences):
        raise BadResponse("it is for another audience")
    return end


def _confirmed_until(subject: xml.Element, wanted: Wanted) -> datetime:
    """Give until when who brings the assertion is its subject; the reason of the last try if he is not."""
    failure = BadResponse("its subject is not confirmed for its bearer")
    for each in xml.children(subject, xml.ASSERTION, "SubjectConfirmation"):
        data = xml.child(each, xml.ASSERTION, "SubjectConfirmationData")
        if xml.attribute(each, "Method") != _BEARER or data is None:
            continue
        try:
            return _bearer_until(data, wanted)
        except BadResponse as error:
            failure = error
    raise failure


def _bearer_until(data: xml.Element, wanted: Wanted) -> datetime:
    begin = read_moment(xml.attribute(data, "NotBefore"))
    end = read_moment(xml.attribute(data, "NotOnOrAfter"))
    if xml.attribute(data, "Recipient") != wanted.recipient:
        raise BadResponse("it is for another recipient")
    if end is None:
        raise BadResponse("it does not say how long its subject is confirmed")
    if begin is not None and begin > wanted.now + SKEW:
        raise BadResponse("it does not hold yet")
    if end <= wanted.now - SKEW:
        raise BadResponse("it has expired")
    check_answers(data, wanted)
    return end


def _session_end(element: xml.Element, now: datetime) -> datetime | None:
    """Give the earliest end that is set to the user's session."""
    statements = xml.children(element, xml.ASSERTION, "AuthnStatement")
    if not statements:
        raise BadResponse("it does not say that the user was authenticated")
    found = [read_moment(xml.attribute(each, "SessionNotOnOrAfter")) for each in statements]
    end = min((each for each in found if each is not None), default=None)
    if end is not None and end <= now:
        raise BadResponse("the user's session at the identity provider has ended")
    return end


def _attributes(element: xml.Element) -> tuple[Attribute, ...]:
    return tuple(
        Attribute(xml.attribute(each, "Name"), xml.attribute(each, "FriendlyName"), _values(each))
        for statement in xml.children(element, xml.ASSERTION, "AttributeStatement")
        for each in xml.children(statement, xml.ASSERTION, "Attribute")
    )


def _values(attribute: xml.Element) -> tuple[str, ...]:
    found = (xml.text(each) for each in xml.children(attribute, xml.ASSERTION, "AttributeValue"))
    return tuple(each for each in found if each)
