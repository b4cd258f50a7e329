"""How clients show who they are. Reference, section 15; RFC 6749, 2.3."""

import uuid
from datetime import UTC, datetime

import pytest

from tests.workers.auth.federation.oauth_server.flow import basic
from workers.auth.federation.oauth_server.client_auth import ClientCredentials, is_authentic, read_credentials
from workers.auth.federation.oauth_server.clients import OAuthClient
from workers.auth.model.codes import hash_token
from workers.auth.model.errors import OAuthError

ID = uuid.UUID("8a4d1a44-5f0b-4e0c-9d51-7a0c3a9c8a11")
NOW = datetime(2026, 11, 21, tzinfo=UTC)
METHODS = ["client_secret_basic", "client_secret_post", "none"]


def client(method: str, secret: str = "a secret") -> OAuthClient:
    kind = "public" if method == "none" else "confidential"
    kept = hash_token(secret) if secret else None
    return OAuthClient(ID, "manual", kind, method, NOW, NOW, client_secret_hash=kept)


def test_the_three_ways_are_told_apart() -> None:
    assert read_credentials(basic(str(ID), "s"), "", "") == ClientCredentials(ID, "client_secret_basic", "s")
    assert read_credentials(basic(str(ID), "s"), str(ID), "") == ClientCredentials(
        ID, "client_secret_basic", "s"
    )
    assert read_credentials(None, str(ID), "s") == ClientCredentials(ID, "client_secret_post", "s")
    assert read_credentials(None, str(ID), "") == ClientCredentials(ID, "none", "")
    assert read_credentials("Bearer an-api-key", str(ID), "s") == ClientCredentials(
        ID, "client_secret_post", "s"
    )


def test_id_and_secret_in_the_header_are_form_encoded() -> None:
    assert read_credentials(basic(str(ID), "a%2Fb+c"), "", "").secret == "a/b c"


def test_an_id_that_no_client_has_is_none() -> None:
    assert read_credentials(None, "somebody", "").id is None
    assert read_credentials(None, str(ID).replace("-", ""), "").id is None


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
        read_credentials(authorization, id, secret)

    assert caught.value.error == "invalid_request"


@pytest.mark.parametrize("registered", METHODS)
@pytest.mark.parametrize("used", METHODS)
def test_only_the_registered_way_will_do(registered: str, used: str) -> None:
    shown = ClientCredentials(ID, used, "" if used == "none" else "a secret")

    assert is_authentic(client(registered), shown) == (registered == used)


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("secret", ["", "another", "a secret ", "A secret", hash_token("a secret")])
def test_a_wrong_secret_is_wrong(method: str, secret: str) -> None:
    assert not is_authentic(client(method), ClientCredentials(ID, method, secret))


def test_a_client_without_a_kept_secret_lets_nobody_in() -> None:
    assert not is_authentic(client("client_secret_post", ""), ClientCredentials(ID, "client_secret_post", ""))


def test_a_secret_is_in_no_repr() -> None:
    assert "a secret" not in repr(ClientCredentials(ID, "client_secret_post", "a secret"))
