"""What a hook's answer may say. Pure."""

import contextlib
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import near
from workers.auth.delivery.hooks.points import (
    EmailData,
    EmptyAnswer,
    HookDecision,
    HookPoint,
    NewClaims,
    SmsData,
    WrongShape,
    read_answer,
)
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError

NAMES = """before-user-created after-user-created customize-access-token send-email send-sms mfa-verification
password-verification"""


def test_every_point_is_told_by_its_name():
    assert [point.payload_name for point in HookPoint] == NAMES.split()


@pytest.mark.parametrize(
    "body", [b"{}", b"null", b'{"error": null}', b'{"error": {}}', b'{"error": {"message": ""}}']
)
def test_nothing_said_is_consent(body: bytes):
    assert read_answer(body, EmptyAnswer) == EmptyAnswer()
    assert read_answer(body, HookDecision) == HookDecision("continue")


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        ({"http_code": 403, "message": "no"}, 403, ErrorCode.UNKNOWN),
        ({"message": "no"}, 500, ErrorCode.UNEXPECTED_FAILURE),
        ({"http_code": 500, "message": "no"}, 500, ErrorCode.UNEXPECTED_FAILURE),
        ({"http_code": 200, "message": "no"}, 500, ErrorCode.UNEXPECTED_FAILURE),
        ({"http_code": -1, "message": "no"}, 500, ErrorCode.UNEXPECTED_FAILURE),
    ],
)
def test_an_error_refuses_with_its_own_words(error: dict[str, object], status: int, code: ErrorCode):
    with pytest.raises(AuthError) as raised:
        read_answer(json.dumps({"error": error, "claims": {}}).encode(), NewClaims)

    assert (raised.value.status, raised.value.code, raised.value.message) == (status, code, "no")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"1", b'"x"', b"{", b"\xff", b'{"claims": []}', b'{"claims": "x"}', b"{}", b'{"error": "no"}',
        b'{"error": [1]}', b'{"error": {"http_code": "403", "message": "no"}}', b'{"error": {"message": 1}}',
        b'{"a":' * 5000 + b"1" + b"}" * 5000, b"[" * 100_000,
    ],
)  # fmt: skip
def test_another_shape_is_refused(body: bytes):
    with pytest.raises(WrongShape):
        read_answer(body, NewClaims)


@pytest.mark.parametrize(
    "said",
    [
        {"decision": "allow"}, {"decision": 1}, {"decision": None, "message": 1}, {"message": []},
        {"should_logout_user": "yes"}, [], "continue",
    ],
)  # fmt: skip
def test_a_decision_that_is_none_is_refused(said: object):
    with pytest.raises(WrongShape):
        read_answer(json.dumps(said).encode(), HookDecision)


ANSWERS = [
    b'{}', b'{"error": {"http_code": 403, "message": "no"}}', b'{"claims": {"sub": "1", "role": "a"}}',
    b'{"decision": "reject", "message": "no", "should_logout_user": true}', b'{"decision": "continue"}',
]  # fmt: skip


@given(near(ANSWERS, [b"null", b"[]", b"{}", b'"error"', b'"http_code"', b"true", b"999"]) | st.binary() | st.recursive(st.none() | st.integers() | st.text(), lambda each: st.dictionaries(st.text(), each)
       | st.lists(each)).map(lambda value: json.dumps(value).encode()))  # fmt: skip
@settings(max_examples=300)
def test_any_answer_is_an_answer_or_refused(body: bytes):
    for kind in (EmptyAnswer, NewClaims, HookDecision):
        with contextlib.suppress(AuthError, WrongShape):
            assert isinstance(read_answer(body, kind), kind)


def test_codes_are_not_shown():
    mail = EmailData(token="123456", token_hash="abcdef", token_new="654321", email_action_type="signup")
    sms = SmsData("123456", "4915112345678")

    assert "123456" not in repr(mail) + repr(sms)
    assert "abcdef" not in repr(mail)


def test_only_messages_of_a_second_factor_say_so():
    assert msgspec.to_builtins(SmsData("1", "2")) == {"otp": "1", "phone": "2"}
    assert msgspec.to_builtins(SmsData("1", "2", "mfa"))["sms_type"] == "mfa"
