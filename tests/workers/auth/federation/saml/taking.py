"""An identity provider's answers, taken as the service takes them, without a database."""

import datetime as dt
from typing import Any

import pytest

from tests.workers.auth.federation.saml.idp import Element, Idp, Says, packed, rsa_pair
from workers.auth.federation.saml.assertion import BadResponse, ExpectedAssertion, SamlAssertion
from workers.auth.federation.saml.metadata import read_metadata
from workers.auth.federation.saml.response import parse_response, verify_response
from workers.auth.federation.saml.service_provider import ServiceProvider

AUDIENCE, ACS, ASKED = "https://a.example/metadata", "https://a.example/acs", "id-1"
NOW = dt.datetime.now(dt.UTC)
KEY, NEXT = rsa_pair("us"), rsa_pair("us next")
HOUR = dt.timedelta(hours=1)


def says(idp: Idp, **more: Any) -> Says:
    usual = {"issuer": idp.entity_id, "audience": AUDIENCE, "acs": ACS, "in_response_to": ASKED, "now": NOW}
    return Says(**{**usual, **more})


def take(
    idp: Idp,
    brought: Element | str,
    *,
    asked: str | None = ASKED,
    now: dt.datetime = NOW,
    takes_encrypted: bool = True,
) -> SamlAssertion:
    """Read a response as the service does."""
    us = ServiceProvider(AUDIENCE, ACS, (KEY, NEXT), (), takes_encrypted)
    text = brought if isinstance(brought, str) else packed(brought)
    wanted = ExpectedAssertion(idp.entity_id, AUDIENCE, ACS, asked, now)
    return verify_response(parse_response(text), read_metadata(idp.metadata().encode()), us, wanted)


def refused(idp: Idp, brought: Element | str, **more: Any) -> str:
    with pytest.raises(BadResponse) as found:
        take(idp, brought, **more)
    return str(found.value)


ALL_SIGNS = pytest.mark.parametrize("signs", [("assertion",), ("response",), ("assertion", "response")])
