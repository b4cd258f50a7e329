"""Errors of the gateway in the shape of each area."""

import json

import pytest

from schemas.auth_api_version import ApiVersion
from schemas.http import header
from services.middleware.errors import JSON, error_response, versioning_disabled


@pytest.mark.parametrize(
    ("area", "body"),
    [
        ("rest", {"code": "401", "message": "No", "details": None, "hint": "Try"}),
        ("graphql", {"data": None, "errors": [{"message": "No"}]}),
        (
            "auth",
            {"code": 401, "error_code": "no_authorization", "msg": "No", "message": "No", "hint": "Try"},
        ),
        ("storage", {"statusCode": "401", "error": "Unauthorized", "message": "No", "code": "AccessDenied"}),
        ("functions", {"code": "401", "message": "No"}),
        ("realtime", {"message": "No", "hint": "Try"}),
        ("", {"message": "No", "hint": "Try"}),
    ],
)
def test_each_area_has_its_shape(area: str, body: dict[str, object]) -> None:
    answer = error_response(area, 401, "No", hint="Try")

    assert answer.status == 401
    assert answer.headers[:2] == [JSON, ("www-authenticate", "Bearer")]
    assert json.loads(answer.body) == body


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "no_authorization"),
        (408, "request_timeout"),
        (413, "request_entity_too_large"),
        (429, "over_request_rate_limit"),
        (500, "unexpected_failure"),
        (503, "unexpected_failure"),
        (504, "request_timeout"),
    ],
)
def test_auth_has_the_code_and_shape_of_its_own_errors(status: int, code: str) -> None:
    first = error_response("auth", status, "No", request_id="r1")
    later = error_response("auth", status, "No", request_id="r1", version=ApiVersion.Y2024)

    named = {"error_id": "r1"} if status >= 500 else {}
    assert json.loads(first.body) == {"code": status, "error_code": code, "msg": "No"} | named
    assert json.loads(later.body) == {"code": code, "message": "No"}
    for answer in (first, later):
        assert header(answer.headers, "x-sb-error-code") == code
    assert header(first.headers, "x-supabase-api-version") is None
    assert header(later.headers, "x-supabase-api-version") == "2024-01-01"


def test_a_hint_is_left_out_where_there_is_none() -> None:
    assert json.loads(error_response("", 404, "Nothing").body) == {"message": "Nothing"}
    assert json.loads(error_response("rest", 404, "Nothing").body)["hint"] is None


@pytest.mark.parametrize(
    ("area", "field"), [("rest", "code"), ("auth", "error_code"), ("functions", "code"), ("storage", "error")]
)
def test_a_code_of_its_own_takes_the_place_of_the_usual_one(area: str, field: str) -> None:
    assert json.loads(error_response(area, 418, "No", code="bad_pot").body)[field] == "bad_pot"


@pytest.mark.parametrize(
    ("status", "name", "code"),
    [
        (400, "InvalidRequest", "InvalidRequest"),
        (401, "Unauthorized", "AccessDenied"),
        (404, "not_found", "NoSuchKey"),
        (408, "RequestTimeout", "RequestTimeout"),
        (413, "Payload too large", "EntityTooLarge"),
        (414, "InvalidRequest", "InvalidRequest"),
        (429, "too_many_requests", "SlowDown"),
        (431, "InvalidRequest", "InvalidRequest"),
        (500, "Internal", "InternalError"),
        (501, "NotImplemented", "NotImplemented"),
        (503, "ServiceUnavailable", "ServiceUnavailable"),
        (504, "RequestTimeout", "RequestTimeout"),
    ],
)
def test_storage_names_what_is_wrong(status: int, name: str, code: str) -> None:
    body = json.loads(error_response("storage", status, "No").body)

    assert body == {"statusCode": str(status), "error": name, "message": "No", "code": code}


def test_versions_are_refused_as_a_feature_that_is_not_there() -> None:
    answer = versioning_disabled()
    body = json.loads(answer.body)

    assert answer.status == 400
    assert (body["statusCode"], body["code"], list(body)[-1]) == ("409", "FeatureNotEnabled", "code")


def test_graphql_says_twice_that_it_is_not_built() -> None:
    assert json.loads(error_response("graphql", 501, "Later").body) == {
        "data": None,
        "errors": [{"message": "Later"}],
        "message": "Later",
    }


def test_further_headers_follow_the_content_type() -> None:
    answer = error_response("rest", 503, "Busy", headers=[("retry-after", "1")])

    assert answer.headers == [JSON, ("retry-after", "1")]


@pytest.mark.parametrize("text", ['"quoted"\n', "ключ 鍵 é", "\x00\x1f"])
def test_any_message_is_valid_json(text: str) -> None:
    assert json.loads(error_response("rest", 400, text).body)["message"] == text


def test_a_text_that_is_no_unicode_is_shown_all_the_same() -> None:
    assert json.loads(error_response("", 404, "nothing at /\udcff").body) == {"message": "nothing at /?"}
