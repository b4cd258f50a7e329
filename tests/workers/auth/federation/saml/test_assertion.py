"""What an assertion says: to us, now, for this sign-in, or it is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lxml import etree  # type: ignore[import-untyped]  # ships no types

from tests.workers.auth.federation.saml.idp import Idp, stamp
from tests.workers.auth.federation.saml.taking import (
    ACS,
    ALL_SIGNS,
    ASKED,
    AUDIENCE,
    HOUR,
    NOW,
    refused,
    says,
    take,
)
from workers.auth.federation.saml.assertion import SKEW


def bearer(**given: str) -> str:
    fields = "".join(f' {name}="{value}"' for name, value in given.items())
    return (
        '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">'
        f"<saml:SubjectConfirmationData{fields}/></saml:SubjectConfirmation>"
    )


LATER, EARLIER = stamp(NOW + HOUR), stamp(NOW - HOUR)
RESTRICTION = (
    f"<saml:AudienceRestriction><saml:Audience>{AUDIENCE}</saml:Audience></saml:AudienceRestriction>"
)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"issuer": "https://other"}, "another issuer"),
        ({"audience": "https://other"}, "another audience"),
        ({"audience": AUDIENCE + "/"}, "another audience"),
        ({"recipient": "https://other/acs"}, "another recipient"),
        ({"recipient": ""}, "another recipient"),
        ({"destination": "https://other/acs"}, "another destination"),
        ({"in_response_to": "id-2"}, "another request"),
        ({"in_response_to": None}, "another request"),
        ({"now": NOW - HOUR}, "expired"),
        ({"now": NOW + HOUR}, "future"),
        ({"session_ends_at": NOW - HOUR}, "has ended"),
        ({"conditions": ""}, "conditions"),
        ({"conditions": f"<saml:Conditions>{RESTRICTION}</saml:Conditions>" * 2}, "conditions"),
        ({"conditions": "<saml:Conditions/>"}, "another audience"),
        ({"conditions": f'<saml:Conditions NotOnOrAfter="{EARLIER}">{RESTRICTION}</saml:Conditions>'}, "expired"),
        ({"conditions": f'<saml:Conditions NotBefore="{LATER}">{RESTRICTION}</saml:Conditions>'}, "hold yet"),
        ({"conditions": f'<saml:Conditions NotBefore="soon">{RESTRICTION}</saml:Conditions>'}, "a time that is none"),
        ({"conditions": f"<saml:Conditions>{RESTRICTION}<saml:Condition/></saml:Conditions>"}, "not known"),
        (
            {"conditions": f"<saml:Conditions>{RESTRICTION}{RESTRICTION.replace(AUDIENCE, 'x')}</saml:Conditions>"},
            "another audience",
        ),
        ({"confirmation": ""}, "not confirmed"),
        ({"confirmation": bearer(Recipient=ACS, InResponseTo=ASKED)}, "how long"),
        ({"confirmation": bearer(Recipient=ACS, NotOnOrAfter=LATER)}, "another request"),
        ({"confirmation": bearer(Recipient=ACS, NotOnOrAfter=EARLIER, InResponseTo=ASKED)}, "expired"),
        ({"confirmation": bearer(Recipient=ACS, NotOnOrAfter=LATER, NotBefore=LATER, InResponseTo=ASKED)}, "hold yet"),
        (
            {"confirmation": bearer(Recipient=ACS, NotOnOrAfter=LATER, InResponseTo=ASKED).replace(":bearer", ":holder-of-key")},
            "not confirmed",
        ),
        ({"authn": ""}, "authenticated"),
    ],
)  # fmt: skip
@ALL_SIGNS
def test_what_is_not_said_to_us_now_is_refused(said: dict[str, Any], told: str, signs: tuple[str, ...]):
    idp = Idp(signs=signs)

    assert told in refused(idp, idp.tree(says(idp, **said)))


def test_one_confirmation_that_holds_is_enough():
    idp = Idp()
    others = bearer(Recipient="https://other", NotOnOrAfter=LATER)
    ours = bearer(Recipient=ACS, NotOnOrAfter=LATER, InResponseTo=ASKED)

    found = take(idp, idp.tree(says(idp, confirmation=others + ours)))

    assert found.expires_at <= NOW + HOUR + SKEW


@pytest.mark.parametrize(
    "begin", [EARLIER, stamp(NOW + timedelta(minutes=10))], ids=["holds now", "holds later"]
)
def test_its_use_is_remembered_while_any_confirmation_may_hold(begin: str):
    idp = Idp()
    soon, later = NOW + timedelta(minutes=5), NOW + HOUR
    first = bearer(Recipient=ACS, NotOnOrAfter=stamp(soon), InResponseTo=ASKED)
    second = bearer(Recipient=ACS, NotBefore=begin, NotOnOrAfter=stamp(later), InResponseTo=ASKED)
    conditions = f"<saml:Conditions>{RESTRICTION}</saml:Conditions>"
    response = idp.tree(says(idp, confirmation=first + second, conditions=conditions))

    assert take(idp, response).expires_at == later + SKEW
    assert take(idp, response, now=soon + timedelta(minutes=10)).expires_at == later + SKEW


def test_an_assertion_without_end_holds():
    idp = Idp()
    ours = bearer(Recipient=ACS, NotOnOrAfter="9999-12-31T23:59:59Z", InResponseTo=ASKED)
    conditions = f"<saml:Conditions>{RESTRICTION}</saml:Conditions>"

    found = take(idp, idp.tree(says(idp, confirmation=ours, conditions=conditions)))

    assert found.expires_at == datetime.max.replace(tzinfo=UTC)


def test_what_answers_a_request_is_refused_where_nobody_asked():
    idp = Idp()

    assert "not known" in refused(idp, idp.tree(says(idp)), asked=None)


def test_the_earliest_end_of_the_session_counts():
    idp = Idp()
    said = says(idp, session_ends_at=NOW + HOUR)
    both = said.assertion()
    statement = both[both.index("<saml:AuthnStatement") : both.index("</saml:AuthnStatement>")]
    said.authn = f"{statement}</saml:AuthnStatement>" * 2
    said.authn = said.authn.replace(stamp(NOW + HOUR), stamp(NOW + 2 * HOUR), 1)

    assert take(idp, idp.tree(said)).session_ends_at == NOW + HOUR


def test_an_assertion_of_another_version_is_refused():
    idp = Idp(signs=("response",))
    said = says(idp)
    inside = said.assertion().replace('Version="2.0"', 'Version="1.1"')

    assert "SAML 2.0" in refused(idp, idp.sealed(etree.fromstring(said.response(inside))))
