import base64

import pytest

from schemas.caller import Anonymous, Caller, Refusal, Rejected, Service, User
from schemas.functions.errors import TokenRefused
from schemas.http import Headers, Request, header
from workers.functions.environment import Keys
from workers.functions.tokens import check_token, with_token

KEYS = Keys("anon.jwt", "service.jwt", ("sb_publishable_1",), ("sb_secret_1",))
REJECTED = Rejected(Refusal.UNDECODABLE, "no")


def request(caller: Caller, headers: Headers | None = None, query: str = "") -> Request:
    return Request("1", "POST", "/a", query, headers or [], caller)


def signed(algorithm: str) -> str:
    head = base64.urlsafe_b64encode(f'{{"alg":"{algorithm}"}}'.encode()).rstrip(b"=").decode()
    return f"Bearer {head}.e30.x"


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        (request(User(b"{}"), [("authorization", "Bearer a.b.c")]), "Bearer a.b.c"),
        (request(Service()), "Bearer service.jwt"),
        (request(Service(), [("authorization", "Bearer sb_secret_1")]), "Bearer service.jwt"),
        (request(Anonymous(), [("apikey", "sb_publishable_1")]), "Bearer anon.jwt"),
        (request(Anonymous(), query="apikey=sb_publishable_1"), "Bearer anon.jwt"),
        (request(Anonymous(), [("authorization", "Bearer sb_publishable_1")]), "Bearer anon.jwt"),
    ],
)
def test_tokens_and_keys_pass_and_keys_become_tokens(asked: Request, seen: str) -> None:
    check_token(asked)

    assert header(with_token(asked, KEYS), "authorization") == seen


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (request(Anonymous()), "UNAUTHORIZED_NO_AUTH_HEADER"),
        (request(Anonymous(), [("authorization", "Basic YTpi")]), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
        (
            request(Anonymous(), [("authorization", "Basic x"), ("apikey", "k")]),
            "UNAUTHORIZED_INVALID_JWT_FORMAT",
        ),
        (request(REJECTED, [("authorization", "Bearer x")]), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
        (request(REJECTED, [("apikey", "unknown")]), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
        (request(REJECTED, [("authorization", signed("HS256"))]), "UNAUTHORIZED_LEGACY_JWT"),
        (request(REJECTED, [("authorization", signed("ES256"))]), "UNAUTHORIZED_ASYMMETRIC_JWT"),
        (request(REJECTED, [("authorization", signed("none"))]), "UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM"),
    ],
)
def test_what_does_not_hold_is_refused_by_its_kind(asked: Request, code: str) -> None:
    with pytest.raises(TokenRefused) as refused:
        check_token(asked)

    assert refused.value.code == code
    assert ("sb-error-code", code) in refused.value.headers()


def test_a_function_that_wants_no_token_gets_what_was_sent() -> None:
    foreign = [("authorization", "Basic YTpi"), ("apikey", "of another"), ("sb-api-key", "forged")]

    assert with_token(request(REJECTED, foreign), KEYS) == foreign[:2]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_header_that_is_nested_deep_is_no_token(opening: str) -> None:
    head = base64.urlsafe_b64encode((opening * 3000).encode()).decode().rstrip("=")

    with pytest.raises(TokenRefused) as refused:
        check_token(
            Request(
                id="",
                method="GET",
                path="/a",
                headers=[("authorization", f"Bearer {head}.e30.x")],
                caller=REJECTED,
            )
        )

    assert refused.value.code == "UNAUTHORIZED_INVALID_JWT_FORMAT"
