"""The bearer of a request. Reference, section 1.4."""

from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from workers.auth.model.bearer import (
    bearer_claims,
    parse_bearer,
    reject_anonymous,
    require_admin,
)
from workers.auth.model.errors import AuthError

USER_ID = "11111111-1111-4111-8111-111111111111"
SESSION_ID = "22222222-2222-4222-8222-222222222222"


def refused(error: pytest.ExceptionInfo[AuthError]) -> tuple[int, str, str]:
    return error.value.status, error.value.code.value, error.value.message


@pytest.mark.parametrize("caller", [AnonymousCaller(), ServiceCaller()])
def test_a_key_alone_is_no_bearer(caller: Caller) -> None:
    with pytest.raises(AuthError) as error:
        bearer_claims(caller)

    assert refused(error) == (401, "no_authorization", "This endpoint requires a valid Bearer token")


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("JWT expired", "JWT expired, token is expired"),
        ("JWT cryptographic operation failed", "JWT cryptographic operation failed"),
    ],
)
def test_a_refused_token_says_why_in_the_words_clients_look_for(message: str, words: str) -> None:
    with pytest.raises(AuthError) as error:
        bearer_claims(RejectedCaller(TokenFault.CLAIMS, message))

    assert refused(error) == (403, "bad_jwt", f"invalid JWT: unable to parse or verify signature, {words}")


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


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({}, (403, "bad_jwt", "invalid claim: missing sub claim")),
        ({"sub": ""}, (403, "bad_jwt", "invalid claim: missing sub claim")),
        ({"sub": None}, (403, "bad_jwt", "invalid claim: missing sub claim")),
        ({"sub": "me"}, (400, "bad_jwt", "invalid claim: sub claim must be a UUID")),
        ({"sub": 7}, (400, "bad_jwt", "invalid claim: sub claim must be a UUID")),
        ({"sub": f"{{{USER_ID}}}"}, (400, "bad_jwt", "invalid claim: sub claim must be a UUID")),
        ({"sub": USER_ID.replace("-", "")}, (400, "bad_jwt", "invalid claim: sub claim must be a UUID")),
        ({"sub": "1-1-1-1-" + "1" * 28}, (400, "bad_jwt", "invalid claim: sub claim must be a UUID")),
        (
            {"sub": USER_ID, "session_id": "x"},
            (403, "bad_jwt", "invalid claim: session_id claim must be a UUID"),
        ),
        (
            {"sub": USER_ID, "session_id": [1]},
            (403, "bad_jwt", "invalid claim: session_id claim must be a UUID"),
        ),
    ],
)
def test_a_token_that_names_nobody_is_refused(
    claims: dict[str, object], expected: tuple[int, str, str]
) -> None:
    with pytest.raises(AuthError) as error:
        parse_bearer(claims)

    assert refused(error) == expected


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
    with pytest.raises(AuthError) as error:
        require_admin({"role": role, "sub": USER_ID}, ["service_role", "supabase_admin"])

    assert refused(error) == (403, "not_admin", "User not allowed")


@pytest.mark.parametrize("role", ["service_role", "supabase_admin"])
def test_an_admin_needs_no_subject(role: str) -> None:
    require_admin({"role": role}, ["service_role", "supabase_admin"])


def test_anonymous_users_are_kept_from_factors() -> None:
    reject_anonymous(parse_bearer({"sub": USER_ID, "is_anonymous": "true"}))
    with pytest.raises(AuthError) as error:
        reject_anonymous(parse_bearer({"sub": USER_ID, "is_anonymous": True}))

    assert refused(error)[:2] == (403, "no_authorization")
