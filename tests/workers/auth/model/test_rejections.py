"""Errors made of templates: the words of most are those that the tests of their endpoints expect; here those that none does."""

import inspect
import string

import pytest

from workers.auth.model import rejections
from workers.auth.model.errors import AuthError
from workers.auth.model.rejections import ErrorTemplate


@pytest.mark.parametrize(
    ("refusal", "fields", "message"),
    [
        (
            rejections.REQUEST_TIMEOUT,
            {},
            "Processing this request timed out, please retry after a moment.",
        ),
        (rejections.OVER_REQUEST_RATE, {}, "Request rate limit reached"),
        (rejections.BAD_JSON, {"reason": "EOF {x}"}, "Could not parse request body as JSON: EOF {x}"),
        (rejections.BAD_TOKEN, {"reason": "r"}, "invalid JWT: unable to parse or verify signature, r"),
        (
            rejections.EMAIL_TOO_SOON,
            {"seconds": 9},
            "For security purposes, you can only request this after 9 seconds.",
        ),
        (
            rejections.SMS_TOO_SOON,
            {"seconds": 9},
            "For security purposes, you can only request this after 9 seconds.",
        ),
        (
            rejections.CAPTCHA_FAILED,
            {"reason": "timeout"},
            "captcha protection: request disallowed (timeout)",
        ),
    ],
)
def test_fields_are_filled_in_once(refusal: ErrorTemplate, fields: dict[str, object], message: str) -> None:
    assert _made(refusal, fields).message == message


def test_every_refusal_makes_a_fresh_error() -> None:
    made = [each for _, each in inspect.getmembers(rejections) if isinstance(each, ErrorTemplate)]
    names = [{name for _, name, _, _ in string.Formatter().parse(each.message) if name} for each in made]

    errors = [_made(each, dict.fromkeys(fields, "x")) for each, fields in zip(made, names, strict=True)]

    assert len(errors) > 40
    assert all("{" not in error.message for error in errors)
    assert rejections.USER_BANNED() is not rejections.USER_BANNED()


def test_one_place_may_answer_with_another_status() -> None:
    assert rejections.USER_BANNED(status=400).status == 400
    assert rejections.USER_BANNED().status == 403
    assert rejections.REQUEST_TIMEOUT().status == 504
    too_often = rejections.OVER_REQUEST_RATE(retry_after_s=3)
    assert (too_often.status, too_often.code, too_often.retry_after_s) == (429, "over_request_rate_limit", 3)


def _made(refusal: ErrorTemplate, fields: dict[str, object]) -> AuthError:
    return refusal(**fields)  # type: ignore[arg-type]  # names of a template, none of them an argument of its own
