"""PKCE: what a challenge may be, and that only its verifier meets it. Reference, section 4.4; RFC 7636."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.auth.model.errors import AuthError
from workers.auth.model.pkce import (
    ChallengeMethod,
    CodeChallenge,
    check_verifier,
    new_verifier,
    parse_challenge,
    s256,
)

VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
"""Both from RFC 7636, appendix B."""

verifiers = st.text("abcXYZ019-._~", min_size=43, max_size=128)


def test_the_example_of_the_rfc_holds() -> None:
    assert s256(VERIFIER) == CHALLENGE
    check_verifier(CodeChallenge(ChallengeMethod.S256, CHALLENGE), VERIFIER)


@pytest.mark.parametrize("method", ["s256", "S256", "plain", "PLAIN", "Plain"])
def test_the_method_is_read_in_any_case(method: str) -> None:
    assert parse_challenge(CHALLENGE, method) == CodeChallenge(ChallengeMethod(method.lower()), CHALLENGE)


@pytest.mark.parametrize(("challenge", "method"), [(None, None), ("", ""), (None, ""), ("", None)])
def test_neither_is_no_flow(challenge: str | None, method: str | None) -> None:
    assert parse_challenge(challenge, method) is None


@pytest.mark.parametrize(
    ("challenge", "method", "message"),
    [
        (CHALLENGE, None, "PKCE flow requires code_challenge_method and code_challenge"),
        (None, "s256", "PKCE flow requires code_challenge_method and code_challenge"),
        (CHALLENGE, "", "PKCE flow requires code_challenge_method and code_challenge"),
        ("a" * 42, "s256", "code challenge has to be between 43 and 128 characters"),
        ("a" * 129, "s256", "code challenge has to be between 43 and 128 characters"),
        ("a" * 42 + "=", "s256", "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes"),
        ("a" * 43 + "\n", "s256", "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes"),
        ("ü" * 43, "plain", "code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes"),
        (CHALLENGE, "s512", "code_challenge_method must be s256 or plain"),
        (CHALLENGE, "ſ256", "code_challenge_method must be s256 or plain"),
    ],
)  # fmt: skip
def test_half_a_flow_or_a_bad_one_is_refused(challenge: str | None, method: str | None, message: str) -> None:
    with pytest.raises(AuthError) as refused:
        parse_challenge(challenge, method)

    assert (refused.value.status, refused.value.code.value, refused.value.message) == (
        400,
        "validation_failed",
        message,
    )


@given(verifiers, verifiers)
def test_only_its_verifier_meets_a_challenge(verifier: str, other: str) -> None:
    for method, text in ((ChallengeMethod.S256, s256(verifier)), (ChallengeMethod.PLAIN, verifier)):
        challenge = parse_challenge(text, method)

        assert challenge is not None
        assert challenge.is_met_by(verifier)
        assert challenge.is_met_by(other) is (other == verifier)


def test_a_flow_of_s256_is_not_met_by_the_challenge_itself() -> None:
    with pytest.raises(AuthError) as refused:
        check_verifier(CodeChallenge(ChallengeMethod.S256, CHALLENGE), CHALLENGE)

    assert refused.value.code.value == "bad_code_verifier"
    assert refused.value.message == "code challenge does not match previously saved code verifier"


@pytest.mark.parametrize("verifier", ["x", "ü" * 43, "\ud83d" * 43, "a" * 100_000])
def test_any_verifier_is_answered(verifier: str) -> None:
    for method in ChallengeMethod:
        with pytest.raises(AuthError) as refused:
            check_verifier(CodeChallenge(method, CHALLENGE), verifier)

        assert (refused.value.status, refused.value.code.value) == (400, "bad_code_verifier")


def test_an_empty_verifier_is_bad_input() -> None:
    with pytest.raises(AuthError) as refused:
        check_verifier(CodeChallenge(ChallengeMethod.PLAIN, CHALLENGE), "")

    assert refused.value.code.value == "validation_failed"


def test_verifiers_of_ours_are_valid_and_fresh() -> None:
    verifier = new_verifier()

    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", verifier)
    assert new_verifier() != verifier


def test_a_challenge_does_not_show_itself() -> None:
    assert CHALLENGE not in repr(CodeChallenge(ChallengeMethod.PLAIN, CHALLENGE))
