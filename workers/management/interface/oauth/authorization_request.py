"""A request for authorization: checked when it arrives, and again by the operations that show and decide it. Pure.

A fault of the client or of the address of redirection is shown, never redirected: the address is not trusted yet. All later faults go
back to the client. Source: OAuth 2.1, 4.1.1 and 4.1.2.1; RFC 8707; RFC 9207.
"""

import re
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from workers.management.interface.oauth.clients import AgentClient
from workers.management.interface.oauth.errors import OAuthRejected
from workers.management.interface.oauth.metadata import issuer_of, resource_of

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_LONGEST_STATE = 1000
PARAMETERS = (
    "response_type",
    "client_id",
    "redirect_uri",
    "code_challenge",
    "code_challenge_method",
    "state",
    "resource",
)


@dataclass(frozen=True, slots=True)
class AgentAuthorizationRequest:
    """A request whose client and address of redirection are known. `fault` is what is wrong with the rest, as code and text."""

    client: AgentClient
    client_id: str
    redirect_uri: str
    code_challenge: str
    state: str
    public_url: str
    fault: tuple[str, str] | None = None

    @property
    def resource(self) -> str:
        """Return the address to which its tokens are bound."""
        return resource_of(self.public_url)

    def answer(self, **members: str) -> str:
        """Return the address to which the browser goes with a code or an error."""
        state = {"state": self.state} if self.state else {}
        query = urlencode(members | state | {"iss": issuer_of(self.public_url)})
        return self.redirect_uri + ("&" if urlsplit(self.redirect_uri).query else "?") + query


def read_request(client: AgentClient, values: dict[str, str], public_url: str) -> AgentAuthorizationRequest:
    """Check the parameters of a request of a client. Raises: OAuthRejected for what must not be redirected."""
    uri = values.get("redirect_uri", "")
    if not client.allows(uri):
        raise OAuthRejected(
            "invalid_request", "The address of redirection is not one that this client has registered"
        )
    state = values.get("state", "")
    return AgentAuthorizationRequest(
        client,
        values.get("client_id", ""),
        uri,
        values.get("code_challenge", ""),
        state[:_LONGEST_STATE],
        public_url,
        fault_of(values, public_url),
    )


def fault_of(values: dict[str, str], public_url: str) -> tuple[str, str] | None:
    """Return what is wrong with the parameters beside client and address of redirection, as code and text."""
    resource = resource_of(public_url)
    if values.get("response_type") != "code":
        return "unsupported_response_type", "`response_type` must be code"
    if values.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(
        values.get("code_challenge", "")
    ):
        return "invalid_request", "PKCE is required: `code_challenge` with `code_challenge_method` S256"
    if len(values.get("state", "")) > _LONGEST_STATE:
        return "invalid_request", f"`state` has at most {_LONGEST_STATE} characters"
    if not is_resource(values.get("resource", ""), resource):
        return "invalid_target", f"`resource` must be {resource}"
    return None


def is_resource(requested: str, resource: str) -> bool:
    """Return whether a client asks for tokens of this server; one that names none does."""
    return requested in ("", resource, resource + "/")
