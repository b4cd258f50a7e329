"""Refusals of the door in the shape of each area."""

import json

import pytest

from services.middleware.refusals import JSON, refusal


@pytest.mark.parametrize(
    ("area", "body"),
    [
        ("rest", {"code": "401", "message": "No", "details": None, "hint": "Try"}),
        ("graphql", {"data": None, "errors": [{"message": "No"}]}),
        ("auth", {"code": 401, "error_code": "unexpected_failure", "msg": "No", "message": "No"}),
        ("storage", {"statusCode": "401", "error": "Unauthorized", "message": "No"}),
        ("functions", {"code": "401", "message": "No"}),
        ("realtime", {"message": "No", "hint": "Try"}),
        ("", {"message": "No", "hint": "Try"}),
    ],
)
def test_each_area_has_its_shape(area: str, body: dict[str, object]) -> None:
    answer = refusal(area, 401, "No", hint="Try")

    assert answer.status == 401
    assert answer.headers == [JSON]
    assert json.loads(answer.body) == body


def test_a_hint_is_left_out_where_there_is_none() -> None:
    assert json.loads(refusal("", 404, "Nothing").body) == {"message": "Nothing"}
    assert json.loads(refusal("rest", 404, "Nothing").body)["hint"] is None


@pytest.mark.parametrize(
    ("area", "field"), [("rest", "code"), ("auth", "error_code"), ("functions", "code"), ("storage", "error")]
)
def test_a_code_of_its_own_takes_the_place_of_the_usual_one(area: str, field: str) -> None:
    assert json.loads(refusal(area, 418, "No", code="bad_pot").body)[field] == "bad_pot"


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "InvalidRequest"),
        (401, "Unauthorized"),
        (404, "not_found"),
        (408, "RequestTimeout"),
        (413, "Payload too large"),
        (414, "InvalidRequest"),
        (429, "too_many_requests"),
        (431, "InvalidRequest"),
        (500, "InternalError"),
        (501, "NotImplemented"),
        (503, "ServiceUnavailable"),
        (504, "RequestTimeout"),
    ],
)
def test_storage_names_what_is_wrong(status: int, name: str) -> None:
    body = json.loads(refusal("storage", status, "No").body)

    assert (body["statusCode"], body["error"]) == (str(status), name)


def test_graphql_says_twice_that_it_is_not_built() -> None:
    assert json.loads(refusal("graphql", 501, "Later").body) == {
        "data": None,
        "errors": [{"message": "Later"}],
        "message": "Later",
    }


def test_further_headers_follow_the_content_type() -> None:
    answer = refusal("rest", 503, "Busy", headers=[("retry-after", "1")])

    assert answer.headers == [JSON, ("retry-after", "1")]


@pytest.mark.parametrize("text", ['"quoted"\n', "ключ 鍵 é", "\x00\x1f"])
def test_any_message_is_valid_json(text: str) -> None:
    assert json.loads(refusal("rest", 400, text).body)["message"] == text


def test_a_text_that_is_no_unicode_is_shown_all_the_same() -> None:
    assert json.loads(refusal("", 404, "nothing at /\udcff").body) == {"message": "nothing at /?"}
