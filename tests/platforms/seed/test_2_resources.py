"""Section 2. Resources and their fields."""

import time
from uuid import UUID

import pytest

from tests.platforms.seed.callers import MILLISECONDS, Person, claims_of

pytestmark = [pytest.mark.process_group("seed"), pytest.mark.timeout(120)]


def test_a_session_has_the_fields_of_2_3_and_its_user_those_of_2_2(ada: Person) -> None:
    session, user = ada.session, ada.session["user"]

    assert isinstance(session["access_token"], str)
    assert session["token_type"].lower() == "bearer"
    assert isinstance(session["expires_in"], int)
    assert isinstance(session["refresh_token"], str)
    assert UUID(user["id"])
    assert (user["email"], user["role"]) == ("ada@example.com", "authenticated")
    assert MILLISECONDS.fullmatch(user["created_at"])
    assert user["user_metadata"]["team"] == "blue"


def test_an_access_token_has_the_claims_of_2_4(ada: Person) -> None:
    claims = claims_of(ada.session["access_token"])

    assert claims["aud"] == claims["role"] == "authenticated"
    assert isinstance(claims["exp"], int)
    assert 0 < claims["exp"] - time.time() <= ada.session["expires_in"]
    assert claims["sub"] == ada.session["user"]["id"]
    assert claims["email"] == "ada@example.com"
    assert claims["user_metadata"]["team"] == "blue"
