"""The query of GET /oauth/authorize as a question to a user. Pure.

Faults of the client or of its address are shown to who sits there: nothing is sent to an address that is not known to be
the client's. Every other fault goes to that address. Source: reference page "auth", section 15; RFC 6749, 4.1.1, 4.1.2.1.
"""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from workers.auth.federation.oauth_server.authorizations import NewAuthorization
from workers.auth.federation.oauth_server.clients import Client
from workers.auth.federation.oauth_server.registration import fault_of_redirect_uri
from workers.auth.federation.oauth_server.scopes import BadScope, parse_scopes
from workers.auth.flows.pkce import parse_challenge
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError

_MOST_FIELDS = 100
_LONGEST = {"state": 4096, "scope": 4096, "resource": 2048, "nonce": 255}


class BadQuestion(Exception):
    """What is wrong, for the client: a word of RFC 6749 and a sentence."""

    def __init__(self, description: str, error: str = "invalid_request") -> None:
        super().__init__(description)
        self.error, self.description = error, description


def parse_fields(query: str) -> dict[str, str]:
    """Read the parameters, each of which may stand there once. Raises: AuthError (400)."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise AuthError(Code.VALIDATION_FAILED, "there are too many parameters") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise AuthError(Code.VALIDATION_FAILED, "a parameter is there more than once")
    if any("\0" in value for value in fields.values()):
        raise AuthError(Code.VALIDATION_FAILED, "a parameter cannot hold a NUL character")
    return fields


def client_id_of(fields: Mapping[str, str]) -> UUID:
    """Give the id of the client that asks. Raises: AuthError (400)."""
    text = fields.get("client_id", "")
    if not text:
        raise AuthError(Code.VALIDATION_FAILED, "client_id is required")
    try:
        found = UUID(text)
    except ValueError:
        found = None
    if found is None or str(found) != text.lower():
        raise AuthError(Code.VALIDATION_FAILED, "client_id must be a UUID")
    return found


def redirect_uri_of(fields: Mapping[str, str], client: Client) -> str:
    """Give the address for the answer: one of the client's own, sign for sign. Raises: AuthError (400)."""
    uri = fields.get("redirect_uri", "")
    if not uri:
        raise AuthError(Code.VALIDATION_FAILED, "redirect_uri is required")
    if uri not in client.redirect_uris:
        raise AuthError(Code.VALIDATION_FAILED, "redirect_uri is not one of the client's")
    # Clients that registered themselves with an earlier release may have told what is not taken any more.
    if fault := fault_of_redirect_uri(uri, is_own=client.registration_type != "dynamic"):
        raise AuthError(Code.VALIDATION_FAILED, f"redirect_uri {fault}")
    return uri


def parse_question(fields: Mapping[str, str], client: Client, usual_scope: str) -> NewAuthorization:
    """Read what a known client asks for. Raises: BadQuestion; AuthError (400) as the two functions above."""
    redirect_uri = redirect_uri_of(fields, client)
    for name, most in _LONGEST.items():
        if len(fields.get(name, "")) > most:
            raise BadQuestion(f"{name} must have at most {most} characters")
    if fields.get("response_type") != "code":
        raise BadQuestion("response_type must be code")
    try:
        scopes = parse_scopes(fields.get("scope", ""), usual_scope)
        challenge = parse_challenge(fields.get("code_challenge"), fields.get("code_challenge_method"))
    except BadScope as error:
        raise BadQuestion(str(error)) from None
    except AuthError as error:
        raise BadQuestion(error.message) from None
    if challenge is None:
        raise BadQuestion("PKCE is required: code_challenge and code_challenge_method")
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
    """Check which service the tokens are for: an absolute address without a fragment. Source: RFC 8707, 2."""
    if not text:
        return ""
    try:
        scheme = urlsplit(text).scheme
    except ValueError:
        scheme = ""
    if not scheme or "#" in text or not text.isprintable():
        raise BadQuestion("resource must be an absolute URI without a fragment")
    return text
