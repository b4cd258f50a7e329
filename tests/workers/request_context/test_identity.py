"""Who the database sees: reference page, sections 4 and 5."""

import json

import pytest

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from schemas.settings.tree import Api, Jwt
from workers.request_context.identity import IdentityResolver
from workers.rest.errors.base import RestError
from workers.rest.errors.token import BadClaims, BadToken, NoJwtSecret, TokenRequired, token_error

OWN = {"anon_role": "anon", "service_role": "service"}


def identities(**options: object) -> IdentityResolver:
    return IdentityResolver(Api(**{**OWN, **options}), token_error)  # type: ignore[arg-type]  # names and values of the settings


def user(**claims: object) -> UserCaller:
    return UserCaller(json.dumps(claims).encode())


@pytest.mark.parametrize(
    ("caller", "role", "claims", "is_anonymous"),
    [
        (AnonymousCaller(), "anon", {"role": "anon"}, True),
        (ServiceCaller(), "service", {"role": "service"}, False),
        (user(role="author", sub="1"), "author", {"role": "author", "sub": "1"}, False),
        (user(sub="1"), "anon", {"role": "anon", "sub": "1"}, True),
        (user(role="anon"), "anon", {"role": "anon"}, True),
        (user(role=None), "anon", {"role": "anon"}, True),
        (user(role=7), "7", {"role": "7"}, False),
        (user(role=["a"]), '["a"]', {"role": '["a"]'}, False),
        (user(role="x", a={"b": [1, None]}), "x", {"role": "x", "a": {"b": [1, None]}}, False),
    ],
)
def test_a_caller_is_a_role_with_claims(
    caller: Caller, role: str, claims: dict[str, object], is_anonymous: bool
) -> None:
    found = identities().of(caller)

    assert (found.role, json.loads(found.claims), found.is_anonymous) == (role, claims, is_anonymous)


def test_the_role_may_stand_elsewhere() -> None:
    found = identities(jwt=Jwt(role_claim_key="$.app.roles[?(@ ^== 'ed')]")).of(
        user(role="x", app={"roles": ["a", "editor"]})
    )

    assert found.role == "editor"
    assert json.loads(found.claims)["role"] == "editor"  # what policies read is the role in effect


@pytest.mark.parametrize("caller", [AnonymousCaller(), user(sub="1"), user(role="")])
def test_without_a_role_a_token_is_required(caller: Caller) -> None:
    with pytest.raises(TokenRequired) as caught:
        identities(anon_role=None).of(caller)

    assert (caught.value.status, caught.value.code) == (401, "PGRST302")
    assert ("www-authenticate", "Bearer") in caught.value.headers()


@pytest.mark.parametrize(
    ("kind", "refusal", "status"),
    [
        (TokenFault.NO_SECRET, NoJwtSecret, 500),
        (TokenFault.UNDECODABLE, BadToken, 401),
        (TokenFault.CLAIMS, BadClaims, 401),
    ],
)
def test_a_refused_token_is_refused_here_in_our_words(
    kind: TokenFault, refusal: type[RestError], status: int
) -> None:
    with pytest.raises(refusal) as caught:
        identities().of(RejectedCaller(kind, "JWT expired", "details"))

    assert (caught.value.message, caught.value.details, caught.value.status) == (
        "JWT expired",
        "details",
        status,
    )


def test_the_same_token_is_the_same_identity() -> None:
    known = identities()

    assert known.of(user(role="a")) is known.of(user(role="a"))
    assert known.of(user(role="a")) is not known.of(user(role="b"))
