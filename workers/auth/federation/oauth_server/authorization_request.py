"""Parses the query of GET /oauth/authorize, the authorization request of a client. Pure.

Danger: a redirect to an address that is not registered for the client would be an open redirect. So an error about the client
or its address is shown to the user (AuthError), and every other error is redirected to that address (BadAuthorizationRequest). Source: docs/reference/auth.md, section 15; RFC 6749, 4.1.1, 4.1.2.1.
"""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from workers.auth.federation.oauth_server.authorizations import NewAuthorization
from workers.auth.federation.oauth_server.clients import OAuthClient
from workers.auth.federation.oauth_server.registration import fault_of_redirect_uri
from workers.auth.federation.oauth_server.scopes import BadScope, parse_scopes
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.pkce import parse_challenge

_MOST_FIELDS = 100
_LONGEST = {"state": 4096, "scope": 4096, "resource": 2048, "nonce": 255}


class BadAuthorizationRequest(Exception):
    """An error that is redirected to the client: an error code of RFC 6749 and a description."""

    def __init__(self, description: str, error: str = "invalid_request") -> None:
        super().__init__(description)
        self.error, self.description = error, description


def parse_fields(query: str) -> dict[str, str]:
    """Parse the parameters; none may occur twice (RFC 6749, 3.1). Raises: AuthError (400)."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "there are too many parameters") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "a parameter is there more than once")
    if any("\0" in value for value in fields.values()):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "a parameter cannot hold a NUL character")
    return fields


def client_id_of(fields: Mapping[str, str]) -> UUID:
    """Return the id of the client. Raises: AuthError (400)."""
    text = fields.get("client_id", "")
    if not text:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "client_id is required")
    try:
        id = UUID(text)
    except ValueError:
        id = None
    if id is None or str(id) != text.lower():
        raise AuthError(ErrorCode.VALIDATION_FAILED, "client_id must be a UUID")
    return id


def redirect_uri_of(fields: Mapping[str, str], client: OAuthClient) -> str:
    """Return the redirect URI: exactly one of those the client registered (RFC 9700, 2.1). Raises: AuthError (400)."""
    uri = fields.get("redirect_uri", "")
    if not uri:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "redirect_uri is required")
    if uri not in client.redirect_uris:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "redirect_uri is not one of the client's")
    # A client that registered itself with an earlier release may have an address that is not accepted any more.
    if fault := fault_of_redirect_uri(uri, is_own=client.registration_type != "dynamic"):
        raise AuthError(ErrorCode.VALIDATION_FAILED, f"redirect_uri {fault}")
    return uri


def parse_authorization_request(
    fields: Mapping[str, str], client: OAuthClient, default_scope: str
) -> NewAuthorization:
    """Parse the request of a registered client. Raises: BadAuthorizationRequest; AuthError (400) as the two functions above."""
    redirect_uri = redirect_uri_of(fields, client)
    for name, most in _LONGEST.items():
        if len(fields.get(name, "")) > most:
            raise BadAuthorizationRequest(f"{name} must have at most {most} characters")
    if fields.get("response_type") != "code":
        raise BadAuthorizationRequest("response_type must be code")
    try:
        scopes = parse_scopes(fields.get("scope", ""), default_scope)
        challenge = parse_challenge(fields.get("code_challenge"), fields.get("code_challenge_method"))
    except BadScope as error:
        raise BadAuthorizationRequest(str(error)) from None
    except AuthError as error:
        raise BadAuthorizationRequest(error.message) from None
    if challenge is None:
        raise BadAuthorizationRequest("PKCE is required: code_challenge and code_challenge_method")
    return NewAuthorization(
        client=client,
        redirect_uri=redirect_uri,
        scopes=scopes,
        challenge=challenge,
        state=fields.get("state", ""),
        resource=_resource(fields.get("resource", "")),
        nonce=fields.get("nonce", ""),
    )


def _resource(text: str) -> str:
    """Check the resource indicator: an absolute URI without a fragment. Source: RFC 8707, 2."""
    if not text:
        return ""
    try:
        scheme = urlsplit(text).scheme
    except ValueError:
        scheme = ""
    if not scheme or "#" in text or not text.isprintable():
        raise BadAuthorizationRequest("resource must be an absolute URI without a fragment")
    return text
