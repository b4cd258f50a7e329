"""Errors of the token (3xx). Source: docs/reference/rest.md, section 20."""

from schemas.caller import RejectedCaller, TokenFault
from schemas.http import Headers
from workers.rest.errors.base import RestError


class NoJwtSecret(RestError):
    """A token was sent, but no key is configured to verify it."""

    code, status = "PGRST300", 500


class BadToken(RestError):
    """The token cannot be decoded or its signature is wrong."""

    code, status = "PGRST301", 401

    def headers(self) -> Headers:
        challenge = f'Bearer error="invalid_token", error_description="{self.message}"'
        return [*super().headers(), ("www-authenticate", challenge)]


class TokenRequired(RestError):
    """No token, and no role for anonymous callers."""

    code, status = "PGRST302", 401

    def __init__(self) -> None:
        super().__init__("Anonymous access is disabled")

    def headers(self) -> Headers:
        return [*super().headers(), ("www-authenticate", "Bearer")]


class BadClaims(BadToken):
    """The token is well signed, but its claims do not hold."""

    code, status = "PGRST303", 401


_OF_TOKENS: dict[TokenFault, type[RestError]] = {
    TokenFault.NO_SECRET: NoJwtSecret,
    TokenFault.UNDECODABLE: BadToken,
    TokenFault.CLAIMS: BadClaims,
}


def token_error(rejected: RejectedCaller | None) -> RestError:
    """Return the error for a token that the gateway rejected; for None, the error that a token is required."""
    if rejected is None:
        return TokenRequired()
    return _OF_TOKENS[rejected.kind](rejected.message, rejected.details)
