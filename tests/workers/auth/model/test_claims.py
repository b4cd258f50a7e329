"""The claims of an access token, AMR and AAL. Reference, sections 3.1, 6.2, 8.4, 17; seed 2.4."""

import pytest
from hypothesis import strategies as st

from workers.auth.model.claims import (
    Aal,
    MethodUse,
    SignInMethod,
    TokenSession,
    TokenUser,
    aal_of,
    access_claims,
    amr_claim,
    expiry,
    faults_of_hook,
    is_enough,
    is_recovery,
)

USER = TokenUser(
    id="11111111-1111-1111-1111-111111111111",
    aud="authenticated",
    role="authenticated",
    email="a@b.co",
    phone="",
    app_metadata={"provider": "email", "providers": ["email"]},
    user_metadata={"name": "Ann"},
    is_anonymous=False,
)
SESSION = TokenSession("22222222-2222-2222-2222-222222222222", (MethodUse(SignInMethod.PASSWORD, 100),))

entries = st.lists(st.builds(MethodUse, st.sampled_from(SignInMethod), st.integers(0, 10)), max_size=8).map(
    tuple
)


def claims(user: TokenUser = USER, session: TokenSession = SESSION, issuer: str = "") -> dict[str, object]:
    return access_claims(user, session, issued_at=100, expires_at=3700, issuer=issuer)


def test_the_claims_are_those_of_the_seed_and_the_clients() -> None:
    assert claims() == {
        "aud": "authenticated",
        "exp": 3700,
        "iat": 100,
        "sub": USER.id,
        "email": "a@b.co",
        "phone": "",
        "app_metadata": {"provider": "email", "providers": ["email"]},
        "user_metadata": {"name": "Ann"},
        "role": "authenticated",
        "aal": "aal1",
        "amr": [{"method": "password", "timestamp": 100}],
        "session_id": SESSION.id,
        "is_anonymous": False,
    }


def test_issuer_client_and_scope_stand_only_where_there_are_any() -> None:
    of_client = TokenSession(SESSION.id, SESSION.amr, client_id="c", scope="openid email")

    more = claims(session=of_client, issuer="https://x.co/auth/v1")

    assert set(more) - set(claims()) == {"iss", "client_id", "scope"}
    assert (more["iss"], more["client_id"], more["scope"]) == ("https://x.co/auth/v1", "c", "openid email")


def test_a_hook_that_only_adds_has_no_faults() -> None:
    assert faults_of_hook({**claims(), "tenant": 7}) == []


WRONG: dict[str, list[object]] = {
    "exp": ["3700", True, 1.5, None, -1, 2**53, 2**70, 10**400],
    "iat": ["now", None],
    "aud": [1, [1], {}],
    "sub": [None, 1],
    "email": [None, 1],
    "phone": [5, []],
    "role": [1, {}],
    "aal": [None, 2],
    "session_id": [1],
    "is_anonymous": ["no", 0],
}
WRONG_IF_THERE: dict[str, list[object]] = {"iss": [1], "jti": [{}], "nbf": ["soon"]}


@pytest.mark.parametrize("name", WRONG)
def test_a_hook_may_not_change_types_or_leave_out(name: str) -> None:
    for value in WRONG[name]:
        assert faults_of_hook({**claims(), name: value}) == [name], value
    assert faults_of_hook({each: kept for each, kept in claims().items() if each != name}) == [name]


@pytest.mark.parametrize("name", WRONG_IF_THERE)
def test_a_hook_may_add_claims_of_their_type_only(name: str) -> None:
    for value in WRONG_IF_THERE[name]:
        assert faults_of_hook({**claims(), name: value}) == [name], value


@pytest.mark.parametrize("method", SignInMethod)
def test_second_factors_and_only_they_make_aal2(method: SignInMethod) -> None:
    expected = (
        Aal.AAL2 if method.value in ("totp", "mfa/phone", "mfa/webauthn", "mfa/recovery_code") else Aal.AAL1
    )

    assert aal_of([MethodUse(SignInMethod.PASSWORD, 1), MethodUse(method, 2)]) is expected


def test_amr_is_newest_first_and_names_providers_of_sso_only() -> None:
    amr = (
        MethodUse(SignInMethod.OAUTH, 5, "google"),
        MethodUse(SignInMethod.TOTP, 9),
        MethodUse(SignInMethod.SSO_SAML, 7, "sso-id"),
    )

    assert amr_claim(amr) == [
        {"method": "totp", "timestamp": 9},
        {"method": "sso/saml", "timestamp": 7, "provider": "sso-id"},
        {"method": "oauth", "timestamp": 5},
    ]


@pytest.mark.parametrize(
    ("method", "has_factor", "enough"),
    [
        (SignInMethod.PASSWORD, False, True),
        (SignInMethod.PASSWORD, True, False),
        (SignInMethod.TOTP, True, True),
        (SignInMethod.TOTP, False, True),
        (SignInMethod.PASSKEY, True, False),
    ],
)
def test_who_has_a_second_factor_must_have_used_it(
    method: SignInMethod, has_factor: bool, enough: bool
) -> None:
    assert is_enough([MethodUse(method, 1)], has_verified_factor=has_factor) is enough


@pytest.mark.parametrize("method", SignInMethod)
def test_sessions_of_codes_and_links_are_recovery_sessions(method: SignInMethod) -> None:
    assert is_recovery([MethodUse(method, 1)]) is (method.value in ("otp", "magiclink", "recovery"))


@pytest.mark.parametrize(
    ("method", "has_factor", "low_aal_s", "expected"),
    [
        (SignInMethod.PASSWORD, True, 900, 1900),
        (SignInMethod.PASSWORD, True, 9000, 5600),
        (SignInMethod.PASSWORD, True, None, 5600),
        (SignInMethod.PASSWORD, False, 900, 5600),
        (SignInMethod.TOTP, True, 900, 5600),
    ],
)
def test_a_token_lives_its_time_or_as_long_as_low_assurance_is_allowed(
    method: SignInMethod, has_factor: bool, low_aal_s: int | None, expected: int
) -> None:
    given_expiry = expiry(
        2000,
        3600,
        amr=[MethodUse(method, 1)],
        has_verified_factor=has_factor,
        session_started_at=1000,
        low_aal_s=low_aal_s,
    )

    assert given_expiry == expected
