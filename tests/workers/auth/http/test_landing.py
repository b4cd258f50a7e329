from urllib.parse import parse_qs, urlsplit

import pytest

from workers.auth.http import landing
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError

TARGET = "https://app.example.org/in?tab=1#old"
SESSION: dict[str, object] = {
    "access_token": "a.b.c",
    "token_type": "bearer",
    "expires_in": 3600,
    "expires_at": 1_800_000_000,
    "refresh_token": "r",
    "user": {"id": "u"},
}


def parts(address: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    split = urlsplit(address)
    assert split.netloc == "app.example.org"
    read = (parse_qs(text, keep_blank_values=True) for text in (split.query, split.fragment))
    query, fragment = read
    return query, fragment


def test_a_session_lands_in_the_fragment_and_nothing_else_does():
    query, fragment = parts(landing.session_url(TARGET, SESSION, {"type": "signup", "provider_token": ""}))

    assert query == {"tab": ["1"]}
    assert fragment == {
        "access_token": ["a.b.c"],
        "token_type": ["bearer"],
        "expires_in": ["3600"],
        "expires_at": ["1800000000"],
        "refresh_token": ["r"],
        "type": ["signup"],
        "sb": [""],
    }


def test_a_code_lands_in_the_query_and_the_fragment_stays():
    assert landing.code_url(TARGET, "c d") == "https://app.example.org/in?tab=1&code=c+d#old"


def test_a_message_lands_in_the_query_too_where_a_server_reads_it():
    assert parts(landing.message_url(TARGET, "One more", is_pkce=False)) == (
        {"tab": ["1"]},
        {"message": ["One more"], "sb": [""]},
    )
    assert parts(landing.message_url(TARGET, "One more", is_pkce=True))[0] == {
        "tab": ["1"],
        "message": ["One more"],
    }


@pytest.mark.parametrize("in_query", [True, False])
def test_a_refusal_lands_with_its_code_and_its_words(in_query: bool):
    told = {
        "error": ["access_denied"],
        "error_code": ["otp_expired"],
        "error_description": ["Email link is invalid or has expired"],
    }

    query, fragment = parts(landing.error_url(TARGET, rejections.BAD_LINK(), in_query=in_query))

    assert fragment == {**told, "sb": [""]}
    assert query == ({"tab": ["1"], **told} if in_query else {"tab": ["1"]})


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "invalid_request"),
        (401, "unauthorized_client"),
        (403, "access_denied"),
        (422, "invalid_request"),
        (500, "server_error"),
        (503, "temporarily_unavailable"),
        (504, "server_error"),
    ],
)
def test_the_status_gives_the_name_of_the_error(status: int, name: str):
    assert landing.error_name(status) == name


def test_disabled_sign_up_is_access_denied_whatever_its_status():
    _, fragment = parts(
        landing.error_url(TARGET, AuthError(ErrorCode.SIGNUP_DISABLED, "no", 422), in_query=False)
    )

    assert fragment["error"] == ["access_denied"]


def test_nobody_keeps_a_redirect_or_is_told_of_its_address():
    response = landing.redirect("https://app.example.org/?code=1", 302)

    assert response.status == 302
    assert dict(response.headers) == {
        "location": "https://app.example.org/?code=1",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
    }
