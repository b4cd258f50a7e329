"""The shapes of refusals: by API version, of weak passwords, of OAuth, of the database. Reference, 1.2, 5.7, 11.2."""

import json
import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.auth_api_version import ApiVersion, parse_api_version
from schemas.http import header
from services.middleware.cors import policy_of, response_headers
from tests.fuzz.mutate import near_text
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import (
    AuthError,
    OAuthError,
    ProjectSqlError,
    WeakPassword,
    error_from_database,
)
from workers.database.errors import DatabaseError, Disconnected, PoolTimeout

FIRST, Y2024 = ApiVersion.FIRST, ApiVersion.Y2024


@pytest.mark.parametrize(
    ("sent", "version"),
    [
        (None, FIRST),
        ("", FIRST),
        ("2023-12-31", FIRST),
        ("2024-01-01", Y2024),
        ("2031-12-31", Y2024),
        ("2024-13-01", FIRST),
        ("2024-02-30", FIRST),
        ("2024-1-1", FIRST),
        ("20240101", FIRST),
        ("2024-01-01T00:00:00", FIRST),
        ("2024-01-01\n", FIRST),
        ("latest", FIRST),
        ("٢٠٢٤-٠١-٠١", FIRST),
    ],
)
def test_the_version_is_a_date_and_anything_else_counts_as_absent(
    sent: str | None, version: ApiVersion
) -> None:
    assert parse_api_version(sent) is version


@given(near_text(["2024-01-01", "2023-12-31", "2031-12-31"]) | st.text(max_size=15))
def test_any_header_gives_a_version(text: str) -> None:
    try:
        is_2024 = re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) and date.fromisoformat(text) >= date(
            2024, 1, 1
        )
    except ValueError:
        is_2024 = False

    assert parse_api_version(text) is (Y2024 if is_2024 else FIRST)


def test_the_first_shape_has_the_status_as_code() -> None:
    answer = AuthError(ErrorCode.USER_NOT_FOUND, "gone", 403).for_version(FIRST, "r1").response()

    assert answer.status == 403
    assert json.loads(answer.body) == {"code": 403, "error_code": "user_not_found", "msg": "gone"}
    assert header(answer.headers, "x-sb-error-code") == "user_not_found"
    assert header(answer.headers, "x-supabase-api-version") is None


def test_the_shape_of_2024_has_the_code_and_echoes_the_version() -> None:
    answer = AuthError(ErrorCode.USER_NOT_FOUND, "gone").for_version(Y2024, "r1").response()

    assert answer.status == 404
    assert json.loads(answer.body) == {"code": "user_not_found", "message": "gone"}
    assert header(answer.headers, "x-supabase-api-version") == "2024-01-01"


@pytest.mark.parametrize("version", ApiVersion)
def test_pages_may_read_the_headers_by_which_clients_understand_an_error(version: ApiVersion) -> None:
    error = AuthError(ErrorCode.USER_NOT_FOUND, "gone", retry_after_s=1, burst=30, status=429)
    exposed = ", ".join(value for _, value in response_headers(policy_of("auth", []), None))

    names = {name for name, _ in error.for_version(version, "r1").headers()}

    assert {"x-sb-error-code", "retry-after"} <= names <= set(exposed.lower().split(", "))


def test_only_errors_of_ours_name_the_request_and_only_in_the_first_shape() -> None:
    ours = AuthError(ErrorCode.UNEXPECTED_FAILURE, "m")

    assert ours.for_version(FIRST, "r1").body()["error_id"] == "r1"
    assert "error_id" not in ours.for_version(Y2024, "r1").body()
    assert "error_id" not in AuthError(ErrorCode.BAD_JSON, "m").for_version(FIRST, "r1").body()


def test_a_refusal_that_nobody_shaped_has_the_first_shape() -> None:
    assert json.loads(AuthError(ErrorCode.CONFLICT, "m").response().body) == {
        "code": 409,
        "error_code": "conflict",
        "msg": "m",
    }


def test_a_refusal_says_when_to_come_back() -> None:
    for version in ApiVersion:
        error = AuthError(ErrorCode.OVER_REQUEST_RATE_LIMIT, "m", retry_after_s=7).for_version(version, "")

        assert ("retry-after", "7") in error.headers()
        assert {("ratelimit-remaining", "0"), ("ratelimit-reset", "7")} <= set(error.headers())


def test_only_limits_tell_of_limits() -> None:
    away = AuthError(ErrorCode.UNEXPECTED_FAILURE, "m", 503, retry_after_s=1)

    assert [name for name, _ in away.headers() if name.startswith("ratelimit")] == []


@pytest.mark.parametrize("version", ApiVersion)
def test_a_weak_password_tells_its_reasons_in_both_shapes(version: ApiVersion) -> None:
    error = WeakPassword("too short", ["length"]).for_version(version, "r1")

    assert error.status == 422
    assert error.body()["weak_password"] == {"reasons": ["length"]}
    assert "weak_password" in (error.body()["code"], error.body().get("error_code"))


def test_half_a_character_in_a_message_is_answered() -> None:
    answer = AuthError(ErrorCode.BAD_JSON, "bad \ud83d").for_version(FIRST, "").response()

    assert json.loads(answer.body)["msg"] == "bad ?"


def test_the_oauth_shape_is_the_same_for_every_caller_and_not_kept() -> None:
    for version in ApiVersion:
        answer = OAuthError("invalid_grant", "Nonces mismatch").for_version(version, "r1").response()

        assert answer.status == 400
        assert json.loads(answer.body) == {"error": "invalid_grant", "error_description": "Nonces mismatch"}
        assert header(answer.headers, "cache-control") == "no-store"


# --- From the database -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sqlstate", "status"),
    [
        ("P0001", 500),
        ("23502", 500),
        ("23505", 500),
        ("23514", 500),
        ("23P01", 500),
        ("PT402", 402),
        ("PT422", 422),
        ("PT503", 503),
        ("PT200", 500),
        ("PT301", 500),
        ("PT999", 500),
    ],
)
def test_what_sql_of_the_project_raises_reaches_the_caller(sqlstate: str, status: int) -> None:
    refused = error_from_database(
        DatabaseError(sqlstate, "no such plan", details="d", hint="h"), "Database error saving new user"
    )

    assert isinstance(refused, ProjectSqlError)
    assert refused.status == status
    assert refused.for_version(Y2024, "").body() == {
        "code": sqlstate,
        "message": "no such plan",
        "hint": "h",
        "detail": "d",
    }
    first = refused.for_version(FIRST, "").body()
    assert first == {
        "code": sqlstate, "error_code": "unexpected_failure", "msg": "no such plan",
        "message": "no such plan", "hint": "h", "detail": "d",
    }  # fmt: skip


def test_hint_and_detail_are_told_only_where_there_are_any() -> None:
    body = error_from_database(DatabaseError("P0001", "m")).for_version(Y2024, "").body()

    assert body == {"code": "P0001", "message": "m"}


@pytest.mark.parametrize(
    "sqlstate", ["42P01", "XX000", "22001", "40001", "57014", "PTabc", "PT", "P0002", "PT4022"]
)
def test_other_errors_of_the_database_keep_their_words_to_themselves(sqlstate: str) -> None:
    refused = error_from_database(
        DatabaseError(sqlstate, 'relation "secret" ...', details="row"), "Database error saving new user"
    )

    assert (refused.status, refused.code) == (500, ErrorCode.UNEXPECTED_FAILURE)
    assert refused.for_version(Y2024, "").body() == {
        "code": "unexpected_failure",
        "message": "Database error saving new user",
    }


def test_a_message_is_there_without_being_given() -> None:
    assert error_from_database(DatabaseError("XX000", "m")).message.startswith("Unexpected failure")


@pytest.mark.parametrize("error", [Disconnected("gone"), PoolTimeout()])
def test_a_database_that_is_away_is_503_with_a_time(error: Disconnected | PoolTimeout) -> None:
    refused = error_from_database(error)

    assert refused.status == 503
    assert ("retry-after", "1") in refused.headers()


# --- In a redirect -----------------------------------------------------------------------------------------------
