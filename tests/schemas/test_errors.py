import json

import pytest

from schemas.errors import ApiError, DeadlineExceeded, Unavailable
from schemas.http import Headers, Response

JSON = ("content-type", "application/json; charset=utf-8")


class Teapot(ApiError):
    """A refusal with everything of its own."""

    status = 418

    def __init__(self, own: Headers) -> None:
        super().__init__("short and stout")
        self.own = own

    def headers(self) -> Headers:
        return self.own

    def body(self) -> dict[str, object]:
        return {"code": "T1", "message": str(self), "details": None, "hint": "tip it"}

    def reason(self) -> str:
        return "I'm a teapot"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ApiError("broken"), Response(500, [JSON], b'{"message":"broken"}')),
        (ApiError(), Response(500, [JSON], b'{"message":""}')),
        (Unavailable("full"), Response(503, [JSON, ("retry-after", "1")], b'{"message":"full"}')),
        (Unavailable("away", 30), Response(503, [JSON, ("retry-after", "30")], b'{"message":"away"}')),
        (DeadlineExceeded("late"), Response(504, [JSON], b'{"message":"late","outcome":"unknown"}')),
        (ApiError('"Å"\n\0'), Response(500, [JSON], '{"message":"\\"Å\\"\\n\\u0000"}'.encode())),
    ],
)
def test_a_refusal_becomes_the_answer_that_is_sent(error: ApiError, expected: Response) -> None:
    assert error.response() == expected


def test_an_area_s_refusal_has_its_own_status_headers_body_and_reason() -> None:
    answer = Teapot([("x-pot", "1")]).response()

    assert (answer.status, answer.reason) == (418, "I'm a teapot")
    assert answer.headers == [JSON, ("x-pot", "1")]
    assert json.loads(answer.body) == {
        "code": "T1",
        "message": "short and stout",
        "details": None,
        "hint": "tip it",
    }


def test_a_refusal_of_another_type_says_so_once() -> None:
    own: Headers = [("content-type", "application/problem+json")]

    assert Teapot(own).response().headers == own


def test_turning_a_refusal_into_an_answer_changes_nothing_of_it() -> None:
    error = Teapot([("x-pot", "1")])

    assert error.response() == error.response()
    assert error.own == [("x-pot", "1")]


@pytest.mark.parametrize("error", [Unavailable("x"), DeadlineExceeded("x"), Teapot([])])
def test_every_refusal_is_caught_as_one(error: ApiError) -> None:
    with pytest.raises(ApiError, match=str(error)):
        raise error
