"""Scopes: what exists, what a refresh may ask for, what each tells of a user. Reference, section 15."""

import uuid
from datetime import UTC, datetime

import pytest

from workers.auth.federation.oauth_server.scopes import BadScope, claims_of, narrow, parse_scopes
from workers.auth.model.rows import AuthUser

NOW = datetime(2026, 11, 21, 1, 30, tzinfo=UTC)
USER = AuthUser(
    id=uuid.uuid4(),
    email="a@example.org",
    email_confirmed_at=NOW,
    phone="4915112345678",
    updated_at=NOW,
    raw_user_meta_data={
        "name": "B",
        "full_name": "A B",
        "avatar_url": "https://a.example/p.png",
        "user_name": 7,
    },
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ("email",)),
        ("  ", ("email",)),
        ("openid profile", ("openid", "profile")),
        ("openid  openid\temail", ("openid", "email")),
    ],
)
def test_scopes_stand_between_blanks_each_once(text: str, found: tuple[str, ...]) -> None:
    assert parse_scopes(text, "email") == found


@pytest.mark.parametrize("text", ["admin", "openid,email", "OPENID", "openid\0"])
def test_a_scope_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(BadScope):
        parse_scopes(text, "email")


def test_a_refresh_asks_for_the_same_or_less() -> None:
    assert narrow("openid email", "") == "openid email"
    assert narrow("openid email", "email") == "email"
    for more in ("profile", "email profile", "EMAIL"):
        with pytest.raises(BadScope):
            narrow("openid email", more)
    with pytest.raises(BadScope):
        narrow(None, "email")


def test_each_scope_tells_its_own_and_no_more() -> None:
    assert claims_of(USER, ["openid", "offline_access"]) == {}
    assert claims_of(USER, ["email"]) == {"email": "a@example.org", "email_verified": True}
    assert claims_of(USER, ["phone"]) == {"phone": "4915112345678", "phone_verified": False}
    assert claims_of(USER, ["profile"]) == {
        "name": "A B",
        "picture": "https://a.example/p.png",
        "updated_at": int(NOW.timestamp()),
        "user_metadata": USER.raw_user_meta_data,
    }


def test_what_a_user_has_not_is_left_out() -> None:
    nobody = AuthUser(id=uuid.uuid4())

    assert claims_of(nobody, ["email", "phone", "profile"]) == {"user_metadata": {}}
