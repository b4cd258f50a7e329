"""Reads a verified assertion, and checks that it is meant for this service, this time and this sign-in. Pure.

Its argument is the element that the signature covers, nothing around it. Source: SAML core, 2.3 to 2.7; SAML profiles, 4.1.4.2 and 4.1.4.3.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from workers.auth.federation.saml import xml
from workers.auth.federation.saml.service_provider import UNSPECIFIED
from workers.auth.federation.saml.xml_times import BadTime, read_time

SKEW = timedelta(seconds=60)
"""The tolerated difference between an identity provider's clock and ours."""
_LATEST = datetime.max.replace(tzinfo=UTC) - SKEW
_BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
_CONDITIONS = frozenset(
    xml.qualified_name(xml.ASSERTION, local)
    for local in ("AudienceRestriction", "OneTimeUse", "ProxyRestriction")
)


class BadResponse(Exception):
    """A response is not valid. The text gives the reason, without quoting the response."""


@dataclass(frozen=True, slots=True)
class SamlAttribute:
    """One attribute of the user, with its values in their order."""

    name: str
    friendly_name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SamlAssertion:
    """The content of a valid assertion. After `expires_at` it would not be valid again, so its use need not be remembered."""

    id: str
    name_id: str
    name_id_format: str
    attributes: tuple[SamlAttribute, ...]
    expires_at: datetime
    session_ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExpectedAssertion:
    """The expected issuer, audience, recipient and request id; None for a sign-in that the identity provider began itself."""

    issuer: str
    audience: str
    recipient: str
    request_id: str | None
    now: datetime


def read_assertion(element: xml.Element, expected: ExpectedAssertion) -> SamlAssertion:
    """Read and check an assertion whose signature is verified. Raises: BadResponse."""
    try:
        return _read(element, expected)
    except BadTime:
        raise BadResponse("it has a time that is none") from None


def check_answers(element: xml.Element, expected: ExpectedAssertion) -> None:
    """Check `InResponseTo`: it must be our request's id, or be absent without a request. Raises: BadResponse."""
    answered = xml.attribute(element, "InResponseTo")
    if expected.request_id is None and answered:
        raise BadResponse("it answers a request that is not known")
    if expected.request_id is not None and answered != expected.request_id:
        raise BadResponse("it answers another request")


def _read(element: xml.Element, expected: ExpectedAssertion) -> SamlAssertion:
    id, issued_at = xml.attribute(element, "ID"), read_time(xml.attribute(element, "IssueInstant"))
    if xml.attribute(element, "Version") != "2.0" or not id or issued_at is None:
        raise BadResponse("it is no assertion of SAML 2.0")
    if issued_at > expected.now + SKEW:
        raise BadResponse("it was issued in the future")
    if xml.text(xml.child(element, xml.ASSERTION, "Issuer")) != expected.issuer:
        raise BadResponse("it is of another issuer")
    conditions_end = _check_conditions(element, expected)
    subject = xml.child(element, xml.ASSERTION, "Subject")
    if subject is None:
        raise BadResponse("it names no subject")
    confirmed_until = _confirmed_until(subject, expected)
    name_id = xml.child(subject, xml.ASSERTION, "NameID")
    return SamlAssertion(
        id=id,
        name_id=xml.text(name_id),
        name_id_format=UNSPECIFIED if name_id is None else xml.attribute(name_id, "Format") or UNSPECIFIED,
        attributes=_attributes(element),
        expires_at=min(confirmed_until, conditions_end or confirmed_until, _LATEST) + SKEW,
        session_ends_at=_session_end(element, expected.now),
    )


def _check_conditions(element: xml.Element, expected: ExpectedAssertion) -> datetime | None:
    """Check the validity period and the audience. Return the end of the period."""
    conditions = xml.children(element, xml.ASSERTION, "Conditions")
    if len(conditions) != 1:
        raise BadResponse("it must have conditions")
    if any(condition.tag not in _CONDITIONS for condition in xml.elements(conditions[0])):
        raise BadResponse("it has a condition that is not known")
    begin = read_time(xml.attribute(conditions[0], "NotBefore"))
    end = read_time(xml.attribute(conditions[0], "NotOnOrAfter"))
    if begin is not None and begin > expected.now + SKEW:
        raise BadResponse("it does not hold yet")
    if end is not None and end <= expected.now - SKEW:
        raise BadResponse("it has expired")
    restrictions = xml.children(conditions[0], xml.ASSERTION, "AudienceRestriction")
    audiences = [
        {xml.text(audience) for audience in xml.children(restriction, xml.ASSERTION, "Audience")}
        for restriction in restrictions
    ]
    if not audiences or any(expected.audience not in allowed for allowed in audiences):
        raise BadResponse("it is for another audience")
    return end


def _confirmed_until(subject: xml.Element, expected: ExpectedAssertion) -> datetime:
    """Return until when a bearer of the assertion is confirmed as its subject: the latest end of all its confirmations.

    Another confirmation than the one that holds now may hold later. Raises: BadResponse of the last confirmation.
    """
    failure: BadResponse | None = BadResponse("its subject is not confirmed for its bearer")
    ends: list[datetime] = []
    for confirmation in xml.children(subject, xml.ASSERTION, "SubjectConfirmation"):
        data = xml.child(confirmation, xml.ASSERTION, "SubjectConfirmationData")
        if xml.attribute(confirmation, "Method") != _BEARER or data is None:
            continue
        try:
            end = read_time(xml.attribute(data, "NotOnOrAfter"))
            if end is not None:
                ends.append(end)
            _check_bearer(data, end, expected)
            failure = None
        except BadResponse as error:
            failure = failure and error
    if failure is not None:
        raise failure
    return max(ends)


def _check_bearer(data: xml.Element, end: datetime | None, expected: ExpectedAssertion) -> None:
    begin = read_time(xml.attribute(data, "NotBefore"))
    if xml.attribute(data, "Recipient") != expected.recipient:
        raise BadResponse("it is for another recipient")
    if end is None:
        raise BadResponse("it does not say how long its subject is confirmed")
    if begin is not None and begin > expected.now + SKEW:
        raise BadResponse("it does not hold yet")
    if end <= expected.now - SKEW:
        raise BadResponse("it has expired")
    check_answers(data, expected)


def _session_end(element: xml.Element, now: datetime) -> datetime | None:
    """Return the earliest `SessionNotOnOrAfter`."""
    statements = xml.children(element, xml.ASSERTION, "AuthnStatement")
    if not statements:
        raise BadResponse("it does not say that the user was authenticated")
    ends = [read_time(xml.attribute(statement, "SessionNotOnOrAfter")) for statement in statements]
    end = min((moment for moment in ends if moment is not None), default=None)
    if end is not None and end <= now:
        raise BadResponse("the user's session at the identity provider has ended")
    return end


def _attributes(element: xml.Element) -> tuple[SamlAttribute, ...]:
    return tuple(
        SamlAttribute(xml.attribute(item, "Name"), xml.attribute(item, "FriendlyName"), _values(item))
        for statement in xml.children(element, xml.ASSERTION, "AttributeStatement")
        for item in xml.children(statement, xml.ASSERTION, "Attribute")
    )


def _values(attribute: xml.Element) -> tuple[str, ...]:
    texts = (xml.text(value) for value in xml.children(attribute, xml.ASSERTION, "AttributeValue"))
    return tuple(text for text in texts if text)
