"""The bearer of a request. Reference, section 1.4."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.caller import AnonymousCaller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from workers.auth.model.bearer import (
    bearer_claims,
    parse_bearer,
    reject_anonymous,
    require_admin,
)
from workers.auth.model.errors import AuthError

USER_ID = "11111111-1111-4111-8111-111111111111"
SESSION_ID = "22222222-2222-4222-8222-222222222222"


def test_claims_are_those_of_the_token() -> None:
    claims = {"sub": USER_ID, "role": "authenticated"}

    assert bearer_claims(UserCaller(msgspec.json.encode(claims))) == claims


def test_a_bearer_is_a_user_and_a_session() -> None:
    bearer = parse_bearer({"sub": USER_ID.upper(), "session_id": SESSION_ID, "role": "authenticated"})

    assert (bearer.user_id, bearer.session_id) == (UUID(USER_ID), UUID(SESSION_ID))
    assert (bearer.role, bearer.is_anonymous) == ("authenticated", False)


@pytest.mark.parametrize("session", [None, ""])
def test_a_token_need_not_name_a_session(session: str | None) -> None:
    assert parse_bearer({"sub": USER_ID, "session_id": session}).session_id is None


NO_SUBJECT = (403, "bad_jwt", "invalid claim: missing sub claim")
BAD_SUBJECT = (400, "bad_jwt", "invalid claim: sub claim must be a UUID")
BAD_SESSION = (403, "bad_jwt", "invalid claim: session_id claim must be a UUID")
UNREADABLE = "invalid JWT: unable to parse or verify signature, "


@pytest.mark.parametrize(
    ("parse", "argument", "expected"),
    [
        (bearer_claims, AnonymousCaller(), (401, "no_authorization", "This endpoint requires a valid Bearer token")),
        (bearer_claims, ServiceCaller(), (401, "no_authorization", "This endpoint requires a valid Bearer token")),
        (bearer_claims, RejectedCaller(TokenFault.CLAIMS, "JWT expired"), (403, "bad_jwt", UNREADABLE + "JWT expired, token is expired")),
        (bearer_claims, RejectedCaller(TokenFault.CLAIMS, "JWT failed"), (403, "bad_jwt", UNREADABLE + "JWT failed")),
        (parse_bearer, {}, NO_SUBJECT),
        (parse_bearer, {"sub": ""}, NO_SUBJECT),
        (parse_bearer, {"sub": None}, NO_SUBJECT),
        (parse_bearer, {"sub": "me"}, BAD_SUBJECT),
        (parse_bearer, {"sub": 7}, BAD_SUBJECT),
        (parse_bearer, {"sub": f"{{{USER_ID}}}"}, BAD_SUBJECT),
        (parse_bearer, {"sub": USER_ID.replace("-", "")}, BAD_SUBJECT),
        (parse_bearer, {"sub": "1-1-1-1-" + "1" * 28}, BAD_SUBJECT),
        (parse_bearer, {"sub": USER_ID, "session_id": "x"}, BAD_SESSION),
        (parse_bearer, {"sub": USER_ID, "session_id": [1]}, BAD_SESSION),
    ],
)  # fmt: skip
def test_a_token_that_names_no_user_is_rejected(
    parse: Callable[[Any], object], argument: object, expected: tuple[int, str, str]
) -> None:
    with pytest.raises(AuthError) as error:
        parse(argument)

    assert (error.value.status, error.value.code.value, error.value.message) == expected


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)


@given(st.dictionaries(st.sampled_from(["sub", "session_id", "role", "is_anonymous"]), json))
def test_any_claims_give_a_bearer_or_a_refusal(claims: dict[str, object]) -> None:
    try:
        bearer = parse_bearer(claims)
    except AuthError:
        return
    assert isinstance(bearer.role, str)


@pytest.mark.parametrize("role", ["authenticated", "", None, 7, ["service_role"], "SERVICE_ROLE"])
def test_other_roles_are_no_admins(role: object) -> None:
    with pytest.raises(AuthError, match="User not allowed"):
        require_admin({"role": role, "sub": USER_ID}, ["service_role", "supabase_admin"])


@pytest.mark.parametrize("role", ["service_role", "supabase_admin"])
def test_an_admin_needs_no_subject(role: str) -> None:
    require_admin({"role": role}, ["service_role", "supabase_admin"])


def test_anonymous_users_are_kept_from_factors() -> None:
    reject_anonymous(parse_bearer({"sub": USER_ID, "is_anonymous": "true"}))
    with pytest.raises(AuthError) as error:
        reject_anonymous(parse_bearer({"sub": USER_ID, "is_anonymous": True}))

    assert (error.value.status, error.value.code) == (403, "no_authorization")
