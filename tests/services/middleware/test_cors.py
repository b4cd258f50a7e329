"""Preflights and the headers of answers (reference pages "rest", section 18, and "platform", section 1)."""

import pytest

from schemas.http import Response
from services.middleware.cors import (
    CorsPolicy,
    completed,
    policy_of,
    preflight,
    response_headers,
)

PAGE = "https://app.example"
OTHER = "https://other.example"


def test_rest_answers_a_preflight_with_its_lists() -> None:
    answer = preflight(policy_of("rest", []), PAGE, "apikey, X-Client-Info ,, prefer")

    assert answer == Response(
        200,
        [
            ("access-control-allow-origin", "*"),
            ("access-control-allow-methods", "GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD"),
            (
                "access-control-allow-headers",
                "Authorization, apikey, X-Client-Info, prefer, Accept, Accept-Language, Content-Language",
            ),
            ("access-control-max-age", "86400"),
        ],
    )


def test_other_areas_answer_a_preflight_with_theirs() -> None:
    headers = dict(preflight(policy_of("storage", []), PAGE, "apikey").headers)

    assert headers["access-control-allow-methods"] == (
        "GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS, TRACE, CONNECT"
    )
    assert headers["access-control-allow-headers"] == "Authorization, apikey"


@pytest.mark.parametrize("asked", [None, "", " , "])
def test_a_preflight_that_asks_for_no_header_gets_the_fixed_ones(asked: str | None) -> None:
    headers = dict(preflight(policy_of("rest", []), PAGE, asked).headers)

    assert headers["access-control-allow-headers"] == (
        "Authorization, Accept, Accept-Language, Content-Language"
    )


_GATEWAY = (
    "Content-Range, Content-Profile, Location, Preference-Applied, sb-error-code, x-relay-error, x-request-id, "
    "retry-after, x-total-count, link"
)


@pytest.mark.parametrize(
    ("area", "reference", "added"),
    [
        (
            "rest",
            "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, "
            "Transfer-Encoding, Range-Unit",
            {"etag", "link", "preference-applied", "retry-after", "x-request-id", "proxy-status", "x-trace"},
        ),
        ("auth", _GATEWAY, {"x-supabase-api-version", "x-sb-error-code", "ratelimit-reset", "etag"}),
        ("storage", _GATEWAY, {"etag", "upload-offset", "tus-resumable", "accept-ranges"}),
        ("functions", _GATEWAY, {"etag", "content-encoding"}),
        ("", _GATEWAY, {"allow", "www-authenticate", "server-timing"}),
    ],
)
@pytest.mark.parametrize("origin", [PAGE, None])
def test_any_page_may_read_what_the_reference_exposes_and_what_is_added(
    area: str, reference: str, added: set[str], origin: str | None
) -> None:
    (_, allowed), *lines = response_headers(policy_of(area, [], ["X-Trace"]), origin)

    assert (allowed, [name for name, _ in lines]) == ("*", ["access-control-expose-headers"] * 2)
    assert lines[0][1] == reference
    names = [name.lower() for _, line in lines for name in line.split(", ")]
    assert len(set(names)) == len(names), "a name is listed twice"
    assert added <= set(names)


def test_a_response_that_depends_on_the_origin_says_so() -> None:
    for headers in (
        response_headers(policy_of("rest", [PAGE]), OTHER),
        preflight(policy_of("rest", [PAGE]), PAGE, None).headers,
    ):
        assert ("vary", "Origin") in headers
    assert "vary" not in dict(response_headers(policy_of("rest", []), PAGE))


@pytest.mark.parametrize(
    "policy", [policy_of("rest", [PAGE]), policy_of("storage", [PAGE, "https://second.example"])]
)
def test_a_listed_origin_is_named_and_may_send_credentials(policy: CorsPolicy) -> None:
    for headers in (response_headers(policy, PAGE), preflight(policy, PAGE, None).headers):
        assert ("access-control-allow-origin", PAGE) in headers
        assert ("access-control-allow-credentials", "true") in headers


@pytest.mark.parametrize("origin", [OTHER, "null", "", PAGE.upper(), PAGE + "/", "*", None])
def test_an_origin_that_is_not_listed_gets_no_permission(origin: str | None) -> None:
    policy = policy_of("rest", [PAGE])

    for headers in (response_headers(policy, origin), preflight(policy, origin or "", None).headers):
        names = [name for name, _ in headers]
        assert "access-control-allow-origin" not in names
        assert "access-control-allow-credentials" not in names


def test_a_preflight_has_no_body_and_status_200() -> None:
    answer = preflight(policy_of("storage", [PAGE]), OTHER, None)

    assert (answer.status, answer.body, answer.stream) == (200, b"", None)


def test_an_answer_of_a_function_is_completed_and_its_own_headers_win() -> None:
    answer = preflight(policy_of("functions", []), "https://a.example", "x-own")
    own = [("Access-Control-Allow-Origin", "https://mine.example"), ("content-type", "text/plain")]

    headers = completed(answer, own).headers

    assert headers.count(("access-control-allow-origin", "https://mine.example")) == 1
    assert ("access-control-allow-origin", "*") not in headers
    assert ("access-control-allow-headers", "Authorization, x-own") in headers
    assert "content-type" not in dict(headers)
