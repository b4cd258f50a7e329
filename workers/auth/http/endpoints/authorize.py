"""GET /authorize: sends a browser to a provider. `_start` runs the steps in this order:

    read the parameters      -> _AuthorizeParameters
    find the provider, and the invitation if one is named
    make the request to the provider (state, PKCE challenge)          -> AuthorizationRequest -> AuthorizationRedirect
    store the flow, bind it to the browser, redirect

The browser is bound by a cookie (`social/browsers.py`). A program that starts a linking, or a browser that reached us under
another host than the callback's, gets the address of GET /authorize/continue instead, which sets the cookie.
Source: docs/reference/auth.md, section 11.1; RFC 6749, 4.1.1; RFC 7636.
"""

from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl
from uuid import UUID, uuid4

import msgspec

from schemas.http import Response, header
from workers.auth.accounts.flow_state import NewFlowState
from workers.auth.federation.providers.exchange import callback_address
from workers.auth.federation.providers.registry import find_provider
from workers.auth.federation.social import browsers, states
from workers.auth.federation.social.browsers import BrowserBinding
from workers.auth.federation.social.protocol import (
    RESERVED_PARAMETERS,
    AuthorizationRequest,
    ProviderError,
    SocialProvider,
)
from workers.auth.federation.social.states import StateSecrets
from workers.auth.http import landing
from workers.auth.http.context import EndpointContext
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.pkce import CodeChallenge, new_verifier, parse_challenge, s256
from workers.auth.model.request import AuthRequest

_OURS = frozenset({"provider", "redirect_to", "scopes", "invite_token", "skip_http_redirect", "apikey"})
"""Parameters of this endpoint; all others go on to the provider."""
_RENAMED = {"workos_provider": "provider"}


@dataclass(frozen=True, slots=True)
class _AuthorizeParameters:
    """The parameters of a request: which provider, where to go at last, and what goes on to the provider."""

    provider: str
    target: str
    scopes: tuple[str, ...]
    extra: dict[str, str]
    challenge: CodeChallenge | None
    invite_token: str = field(repr=False)


async def authorize(context: EndpointContext, request: AuthRequest) -> Response:
    """Send a browser to a provider. Raises: AuthError (400, 404, 500)."""
    return await _start(context, request)


async def linking_address(context: EndpointContext, request: AuthRequest, linking_target_id: UUID) -> str:
    """Start the linking of an identity to a user, and return the address of ours that sends a browser to the provider.

    Raises: AuthError as `authorize`.
    """
    response = await _start(context, request, linking_target_id=linking_target_id)
    return header(response.headers, "location") or ""


async def continue_with_ticket(context: EndpointContext, request: AuthRequest) -> Response:
    """Bind the flow of a ticket to this browser, and send it to the provider. Raises: AuthError (400)."""
    async with context.transaction() as transaction:
        destination, binding = await browsers.use_ticket(
            context, transaction, request, request.query("ticket")
        )
    return _with_cookie(landing.redirect(destination, 302), binding)


def sign_in_target(context: EndpointContext, candidates: list[str | None]) -> str:
    """Return where a browser goes after a sign-in at a provider: the first candidate on the allow list.

    Without one, unlike after a link in an email (`http/redirect_target.py`), it is the setting `redirect_url`, then `site_url`.
    """
    settings = context.settings
    allowed = [address for address in candidates if address and context.redirects.allows(address)]
    return context.redirects.target(allowed) if allowed else settings.redirect_url or settings.site_url


async def _start(
    context: EndpointContext, request: AuthRequest, *, linking_target_id: UUID | None = None
) -> Response:
    """Start a sign-in, or the linking of an identity to a user, and redirect the browser.

    Raises: AuthError (400; 404 for an invitation that is not valid; 500 if the provider fails).
    """
    parameters = _read_parameters(context, request)
    async with context.transaction() as transaction:
        provider = await find_provider(context, transaction, parameters.provider)
        invitation = ""
        if parameters.invite_token:
            invitation = await states.find_invitation(context, transaction, parameters.invite_token)
    flow = NewFlowState(
        provider_type=provider.name,
        authentication_method=states.METHOD,
        challenge=parameters.challenge,
        referrer=parameters.target,
        invite_token=invitation,
        linking_target_id=linking_target_id,
        is_email_optional=provider.is_email_optional,
        id=uuid4(),
    )
    return await _redirect_to_provider(context, request, provider, parameters, flow)


async def _redirect_to_provider(
    context: EndpointContext,
    request: AuthRequest,
    provider: SocialProvider,
    parameters: _AuthorizeParameters,
    flow: NewFlowState,
) -> Response:
    """Store a flow and redirect the browser to the provider, by way of a ticket if a cookie set now would not come back."""
    verifier, callback = new_verifier() if provider.uses_pkce else "", callback_address(context, provider)
    challenge = s256(verifier) if verifier else None
    try:
        destination = await provider.authorization_url(
            AuthorizationRequest(
                str(flow.id), callback, parameters.scopes, parameters.extra, code_challenge=challenge
            )
        )
    except ProviderError as error:
        raise AuthError(ErrorCode.UNEXPECTED_FAILURE, error.description) from None
    secrets = StateSecrets(verifier, destination.secret)
    flow = replace(flow, oauth_client_state_id=uuid4() if verifier or destination.secret else None)
    # A linking is started by a program: its response is not the browser that will go to the provider.
    if flow.linking_target_id is None and browsers.is_on_callback_host(request, callback):
        by_post = browsers.returns_by_post(destination.url)
        binding = browsers.bind(context, request, callback, by_post=by_post)
        async with context.transaction() as transaction:
            await states.begin(context, transaction, replace(flow, browser_hash=binding.hash), secrets)
        return _with_cookie(landing.redirect(destination.url, 302), binding)
    async with context.transaction() as transaction:
        await states.begin(context, transaction, flow, secrets)
        address = await browsers.store_destination(
            context, transaction, browsers.OAUTH, flow.id, destination.url, callback
        )
    return landing.redirect(address, 302)


def _read_parameters(context: EndpointContext, request: AuthRequest) -> _AuthorizeParameters:
    headers = request.http.headers
    provider = request.query("provider")
    if not provider:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "Unsupported provider: none is named")
    candidates = [header(headers, "redirect_to"), request.query("redirect_to"), header(headers, "referer")]
    return _AuthorizeParameters(
        provider,
        sign_in_target(context, candidates),
        tuple(dict.fromkeys(request.query("scopes").replace(",", " ").split())),
        _provider_parameters(request),
        parse_challenge(request.query("code_challenge"), request.query("code_challenge_method")),
        request.query("invite_token"),
    )


def _provider_parameters(request: AuthRequest) -> dict[str, str]:
    """Return the parameters that go on to the provider, the first of each name."""
    pairs = parse_qsl(request.http.query, keep_blank_values=True)
    passed = {
        name: value
        for name, value in reversed(pairs)
        if name not in _OURS and name.lower() not in RESERVED_PARAMETERS and "\0" not in name + value
    }
    return {_RENAMED.get(name, name): value for name, value in reversed(passed.items())}


def _with_cookie(response: Response, binding: BrowserBinding) -> Response:
    return msgspec.structs.replace(response, headers=[*response.headers, binding.cookie])
