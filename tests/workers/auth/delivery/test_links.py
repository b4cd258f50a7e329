"""Confirmation URLs."""

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.auth.delivery.links import VERIFY_TYPES, confirmation_url
from workers.auth.delivery.templates import EmailKind

ASKED = "token=ab&type=signup&redirect_to=https%3A%2F%2Fapp.example%2F%3Fa%3D1%26b"


@pytest.mark.parametrize(
    ("external", "path", "link"),
    [
        ("https://api.example", "/verify", "https://api.example/verify"),
        ("https://api.example/auth/v1", "/verify", "https://api.example/auth/v1/verify"),
        ("https://api.example/auth/v1/", "verify", "https://api.example/auth/v1/verify"),
        ("https://api.example/auth/v1", "/auth/v1/verify", "https://api.example/auth/v1/verify"),
        ("https://api.example/auth/v1", "/auth/v1x/verify", "https://api.example/auth/v1/auth/v1x/verify"),
        ("http://127.0.0.1:54321/auth/v1", "", "http://127.0.0.1:54321/auth/v1"),
        ("https://api.example/auth/v1", "https://app.example/confirm", "https://app.example/confirm"),
    ],
)  # fmt: skip
def test_link_keeps_the_path_of_the_external_url(external: str, path: str, link: str) -> None:
    made = confirmation_url(
        external, token_hash="ab", verify_type="signup", redirect_to="https://app.example/?a=1&b", path=path
    )

    assert made == f"{link}?{ASKED}"


def test_link_keeps_a_query_of_the_path() -> None:
    made = confirmation_url(
        "https://a/auth/v1", token_hash="t", verify_type="email", redirect_to="", path="/verify?via=mail"
    )

    assert made == "https://a/auth/v1/verify?via=mail&token=t&type=email&redirect_to="


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_values_come_back_from_the_link(token: str, target: str) -> None:
    made = confirmation_url("https://a", token_hash=token, verify_type="invite", redirect_to=target)

    query = parse_qs(urlsplit(made).query, keep_blank_values=True)
    assert query == {"token": [token], "type": ["invite"], "redirect_to": [target]}


def test_every_email_with_a_link_has_a_type() -> None:
    assert set(VERIFY_TYPES.values()) == {"invite", "signup", "recovery", "magiclink", "email_change"}
    assert EmailKind.REAUTHENTICATION not in VERIFY_TYPES
