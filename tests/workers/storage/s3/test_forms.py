"""Policies of forms: what they allow, what they do not, and that a form must keep to them wholly."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.storage.s3.forms import claim_of
from workers.storage.s3.post_policy import PostPolicy, check_policy, read_policy
from workers.storage.s3.protocol.errors import S3Error

SOON = "2030-01-01T00:00:00Z"


def spelled(conditions: object, expiration: object = SOON) -> str:
    """Write a policy as a form has it."""
    return base64.b64encode(
        json.dumps({"expiration": expiration, "conditions": conditions}).encode()
    ).decode()


def refused(policy: PostPolicy, **fields: str) -> str:
    """Give the message for fields that must not fit."""
    with pytest.raises(S3Error) as error:
        check_policy(policy, {name.replace("_", "-"): value for name, value in fields.items()})
    assert (error.value.code, error.value.status) == ("AccessDenied", 403)
    return error.value.message


def test_conditions_are_read() -> None:
    policy = read_policy(
        spelled([
            {"bucket": "b", "Key": "k"},
            ["eq", "$Content-Type", "text/plain"],
            ["starts-with", "$x-amz-meta-who", ""],
            ["content-length-range", 1, 10],
            ["content-length-range", 0, 8],
        ])
    )  # fmt: skip

    assert policy.conditions == (
        ("eq", "bucket", "b"),
        ("eq", "key", "k"),
        ("eq", "content-type", "text/plain"),
        ("starts-with", "x-amz-meta-who", ""),
    )
    assert (policy.expires, policy.least, policy.most) == (1893456000, 1, 8)


@pytest.mark.parametrize(
    "expiration",
    ["2030-01-01T00:00:00.000Z", "2030-01-01T00:00:00Z", "2030-01-01T00:00:00.000000000Z"],
)
def test_an_expiration_is_a_time_in_utc(expiration: str) -> None:
    assert read_policy(spelled([], expiration)).expires == 1893456000


@pytest.mark.parametrize(
    "expiration",
    [
        "2030-01-01T01:00:00+01:00",
        "2030-01-01T00:00:00",
        "2030-01-01 00:00:00+00:00",
        "2030-01-01",
        "2030-13-01T00:00:00Z",
        "1893456000",
        "",
    ],
)
def test_an_expiration_of_another_form_is_rejected(expiration: str) -> None:
    with pytest.raises(S3Error) as error:
        read_policy(spelled([], expiration))

    assert error.value.code == "InvalidPolicyDocument"


@pytest.mark.parametrize(
    "bounds", [[-1, 0], [0, -1], [5], [0, 1, 2], [1.5, 2], [True, 2], ["one", 2], [10, 3], [None, 2]]
)
def test_a_length_range_that_is_none_is_rejected(bounds: list[object]) -> None:
    with pytest.raises(S3Error) as error:
        read_policy(spelled([["content-length-range", *bounds]]))

    assert (error.value.code, error.value.status) == ("InvalidPolicyDocument", 400)


def test_bounds_of_a_length_range_may_be_texts() -> None:
    policy = read_policy(spelled([["content-length-range", "2", "9"]]))

    assert (policy.least, policy.most) == (2, 9)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no base64!",
        base64.b64encode(b"no json").decode(),
        base64.b64encode(b"[" * 100_000).decode(),
        base64.b64encode(b"[]").decode(),
        base64.b64encode(b"{}").decode(),
        spelled([], "soon"),
        spelled([], 1),
        spelled("all"),
        spelled([["ends-with", "$key", "x"]]),
        spelled([["eq", "key", "x"]]),
        spelled([["eq", "$key"]]),
        spelled([["eq", "$key", 1]]),
        spelled([{"key": None}]),
        spelled([["content-length-range", "a", "b"]]),
        spelled([{"key": "x" * 70_000}]),
    ],
)
def test_what_is_no_policy_is_refused(text: str) -> None:
    with pytest.raises(S3Error) as error:
        read_policy(text)

    assert error.value.code == "InvalidPolicyDocument"


def test_every_condition_must_hold() -> None:
    policy = read_policy(
        spelled([{"key": "a"}, ["starts-with", "$Content-Type", "image/"], {"acl": "private"}])
    )

    check_policy(policy, {"key": "a", "content-type": "image/png", "acl": "private"})
    assert "$key" in refused(policy, key="b", content_type="image/png", acl="private")
    assert "$content-type" in refused(policy, key="a", content_type="text/html,image/png", acl="private")
    assert "$acl" in refused(policy, key="a", content_type="image/png")


def test_every_field_must_have_a_condition() -> None:
    policy = read_policy(spelled([{"key": "a"}]))

    check_policy(
        policy, {"key": "a", "policy": "p", "x-amz-signature": "s", "x-ignore-me": "1", "bucket": "b"}
    )
    assert "Extra input fields: x-amz-meta-admin" in refused(policy, key="a", x_amz_meta_admin="1")


def test_the_bucket_of_the_path_is_held_against_the_policy() -> None:
    assert "$bucket" in refused(read_policy(spelled([{"bucket": "mine"}])), bucket="theirs")


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"policy": ""}, "AccessDenied"),
        ({"x-amz-algorithm": "AWS4-ECDSA-P256-SHA256"}, "InvalidArgument"),
        ({"x-amz-date": "yesterday"}, "InvalidArgument"),
        ({"x-amz-date": "20290102T000000Z"}, "InvalidArgument"),
        ({"x-amz-signature": "0"}, "InvalidArgument"),
        ({"x-amz-credential": "id/20290101/us-east-1/ec2/aws4_request"}, "AuthorizationHeaderMalformed"),
        ({"x-amz-credential": ""}, "AuthorizationHeaderMalformed"),
    ],
)
def test_a_form_must_say_who_signed_it(changed: dict[str, str], code: str) -> None:
    fields = {
        "policy": "p",
        "x-amz-algorithm": "AWS4-HMAC-SHA256",
        "x-amz-credential": "id/20290101/us-east-1/s3/aws4_request",
        "x-amz-date": "20290101T000000Z",
        "x-amz-signature": "0" * 64,
    }
    assert claim_of(fields).access_key == "id"

    with pytest.raises(S3Error) as error:
        claim_of({**fields, **changed})

    assert error.value.code == code


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_a_policy_or_a_refusal(value: Any) -> None:
    for text in (spelled(value), spelled([value]), base64.b64encode(json.dumps(value).encode()).decode()):
        try:
            assert isinstance(read_policy(text), PostPolicy)
        except S3Error as error:
            assert error.code == "InvalidPolicyDocument"  # noqa: PT017 - either way is right
