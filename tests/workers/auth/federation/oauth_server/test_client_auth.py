"""How clients show who they are. Reference, section 15; RFC 6749, 2.3."""

import uuid
from datetime import UTC, datetime

import pytest

from tests.workers.auth.federation.oauth_server.flow import basic
from workers.auth.accounts.codes.codes import hashed_token
from workers.auth.federation.oauth_server.client_auth import Presented, is_right, presented
from workers.auth.federation.oauth_server.clients import Client
from workers.auth.model.errors import OAuthError

ID = uuid.UUID("8a4d1a44-5f0b-4e0c-9d51-7a0c3a9c8a11")
NOW = datetime(2026, 11, 21, tzinfo=UTC)
METHODS = ["client_secret_basic", "client_secret_post", "none"]


def client(method: str, secret: str = "a secret") -> Client:
    kind = "public" if method == "none" else "confidential"
    kept = hashed_token(secret) if secret else None
    return Client(ID, "manual", kind, method, NOW, NOW, client_secret_hash=kept)


def test_the_three_ways_are_told_apart() -> None:
    assert presented(basic(str(ID), "s"), "", "") == Presented(ID, "client_secret_basic", "s")
    assert presented(basic(str(ID), "s"), str(ID), "") == Presented(ID, "client_secret_basic", "s")
    assert presented(None, str(ID), "s") == Presented(ID, "client_secret_post", "s")
    assert presented(None, str(ID), "") == Presented(ID, "none", "")
    assert presented("Bearer an-api-key", str(ID), "s") == Presented(ID, "client_secret_post", "s")


def test_id_and_secret_in_the_header_are_form_encoded() -> None:
    assert presented(basic(str(ID), "a%2Fb+c"), "", "").secret == "a/b c"


def test_an_id_that_no_client_has_is_none() -> None:
    assert presented(None, "somebody", "").id is None
    assert presented(None, str(ID).replace("-", ""), "").id is None


@pytest.mark.parametrize(
    ("authorization", "id", "secret"),
    [
        (None, "", ""),
        (None, "", "s"),
        (basic(str(ID), "s"), str(ID), "s"),
        (basic(str(ID), "s"), str(uuid.uuid4()), ""),
        ("Basic !", "", ""),
        ("Basic gA==", "", ""),
        ("Basic é", "", ""),
    ],
)
def test_who_says_nothing_or_two_things_is_refused(authorization: str | None, id: str, secret: str) -> None:
    with pytest.raises(OAuthError) as caught:
        presented(authorization, id, secret)

    assert caught.value.error == "invalid_request"


@pytest.mark.parametrize("registered", METHODS)
@pytest.mark.parametrize("used", METHODS)
def test_only_the_registered_way_will_do(registered: str, used: str) -> None:
    shown = Presented(ID, used, "" if used == "none" else "a secret")

    assert is_right(client(registered), shown) == (registered == used)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("secret", ["", "another", "a secret ", "A secret", hashed_token("a secret")])
def test_a_wrong_secret_is_wrong(method: str, secret: str) -> None:
    assert not is_right(client(method), Presented(ID, method, secret))


def test_a_client_without_a_kept_secret_lets_nobody_in() -> None:
    assert not is_right(client("client_secret_post", ""), Presented(ID, "client_secret_post", ""))


def test_a_secret_is_in_no_repr() -> None:
    assert "a secret" not in repr(Presented(ID, "client_secret_post", "a secret"))
