import base64

import pytest

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from schemas.functions.errors import FunctionTokenRejected
from schemas.http import Headers, Request, header
from workers.functions.processes.environment import FunctionKeys
from workers.functions.tokens import check_token, headers_for_function

KEYS = FunctionKeys("anon.jwt", "service.jwt", ("sb_publishable_1",), ("sb_secret_1",))
REJECTED = RejectedCaller(TokenFault.UNDECODABLE, "no")


def request(caller: Caller, headers: Headers | None = None, query: str = "") -> Request:
    return Request("1", "POST", "/a", query, headers or [], caller)


def signed(algorithm: str) -> str:
    head = base64.urlsafe_b64encode(f'{{"alg":"{algorithm}"}}'.encode()).rstrip(b"=").decode()
    return f"Bearer {head}.e30.x"


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        (request(UserCaller(b"{}"), [("authorization", "Bearer a.b.c")]), "Bearer a.b.c"),
        (request(ServiceCaller()), "Bearer service.jwt"),
        (request(ServiceCaller(), [("authorization", "Bearer sb_secret_1")]), "Bearer service.jwt"),
        (request(AnonymousCaller(), [("apikey", "sb_publishable_1")]), "Bearer anon.jwt"),
        (request(AnonymousCaller(), query="apikey=sb_publishable_1"), "Bearer anon.jwt"),
        (request(AnonymousCaller(), [("authorization", "Bearer sb_publishable_1")]), "Bearer anon.jwt"),
    ],
)
def test_tokens_and_keys_pass_and_keys_become_tokens(asked: Request, seen: str) -> None:
    check_token(asked)

    assert header(headers_for_function(asked, KEYS), "authorization") == seen


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (request(AnonymousCaller()), "UNAUTHORIZED_NO_AUTH_HEADER"),
        (request(AnonymousCaller(), [("authorization", "Basic YTpi")]), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
        (
            request(AnonymousCaller(), [("authorization", "Basic x"), ("apikey", "k")]),
            "UNAUTHORIZED_INVALID_JWT_FORMAT",
        ),
        (request(REJECTED, [("authorization", "Bearer x")]), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
        (request(REJECTED, [("apikey", "unknown")]), "UNAUTHORIZED_INVALID_JWT_FORMAT"),
        (request(REJECTED, [("authorization", signed("HS256"))]), "UNAUTHORIZED_LEGACY_JWT"),
        (request(REJECTED, [("authorization", signed("ES256"))]), "UNAUTHORIZED_ASYMMETRIC_JWT"),
        (request(REJECTED, [("authorization", signed("none"))]), "UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM"),
    ],
)
def test_invalid_tokens_are_rejected_by_their_kind(asked: Request, code: str) -> None:
    with pytest.raises(FunctionTokenRejected) as refused:
        check_token(asked)

    assert refused.value.code == code
    assert ("sb-error-code", code) in refused.value.headers()


def test_a_function_without_token_check_gets_the_original_headers() -> None:
    foreign = [("authorization", "Basic YTpi"), ("apikey", "of another"), ("sb-api-key", "forged")]

    assert headers_for_function(request(REJECTED, foreign), KEYS) == foreign[:2]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_deeply_nested_header_is_not_a_token(opening: str) -> None:
    head = base64.urlsafe_b64encode((opening * 3000).encode()).decode().rstrip("=")

    with pytest.raises(FunctionTokenRejected) as refused:
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
