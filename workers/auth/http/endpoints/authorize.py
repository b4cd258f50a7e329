"""GET /authorize: a browser goes to a provider. Source: reference page "auth", section 11.1; RFC 6749, 4.1.1."""

from dataclasses import dataclass, replace
from urllib.parse import parse_qsl
from uuid import UUID, uuid4

import msgspec

from schemas.http import Response, header
from workers.auth.context import Accounts
from workers.auth.delivery.email import landing
from workers.auth.federation.providers.registry import find_provider
from workers.auth.federation.social import browsers, states
from workers.auth.federation.social.browsers import Binding
from workers.auth.federation.social.protocol import Departure, Provider, ProviderFailed
from workers.auth.flows.flow_state import NewFlow
from workers.auth.flows.pkce import Challenge, new_verifier, parse_challenge, s256
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked

_OURS = frozenset({"provider", "redirect_to", "scopes", "invite_token", "skip_http_redirect", "apikey"})
RESERVED = frozenset({
    "client_id", "client_secret", "redirect_uri", "response_type", "state", "code_challenge", "code_challenge_method",
    "code_verifier", "request", "request_uri",
})  # fmt: skip
"""Parameters that nobody but us sets towards a provider, in any case. The last two would carry all others with them."""
_RENAMED = {"workos_provider": "provider"}


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a request for a sign-in names."""

    provider: str
    target: str
    scopes: tuple[str, ...]
    extra: dict[str, str]
    challenge: Challenge | None
    invite_token: str


async def authorize(accounts: Accounts, asked: Asked) -> Response:
    """Send a browser to a provider, and know it when it comes back. Raises: AuthError (400, 404)."""
    return await _begin(accounts, asked)


async def linking_address(accounts: Accounts, asked: Asked, linking_target_id: UUID) -> str:
    """Begin the linking of an identity to a user, and give the address of ours by which a browser goes to the provider.

    Raises: AuthError as `authorize`.
    """
    response = await _begin(accounts, asked, linking_target_id=linking_target_id)
    return header(response.headers, "location") or ""


async def go_on(accounts: Accounts, asked: Asked) -> Response:
    """Send the browser that brings a ticket to the provider, and know it when it comes back. Raises: AuthError (400)."""
    async with accounts.transaction() as transaction:
        destination, binding = await browsers.depart(accounts, transaction, asked, asked.query("ticket"))
    return _with_cookie(landing.redirect(destination, 302), binding)


def _with_cookie(response: Response, binding: Binding) -> Response:
    return msgspec.structs.replace(response, headers=[*response.headers, binding.cookie])


async def _begin(accounts: Accounts, asked: Asked, *, linking_target_id: UUID | None = None) -> Response:
    """Begin a sign-in, or the linking of an identity to a user, and send the browser on.

    Raises: AuthError (400; 404 for an invitation that is none; 500 if the provider cannot be asked).
    """
    wish = _wish(accounts, asked)
    async with accounts.transaction() as transaction:
        provider = await find_provider(accounts, transaction, wish.provider)
        invitation = ""
        if wish.invite_token:
            invitation = await states.find_invitation(accounts, transaction, wish.invite_token)
    verifier, state = new_verifier() if provider.uses_pkce else "", uuid4()
    departure = Departure(
        str(state), callback_address(accounts, provider), wish.scopes, wish.extra, s256(verifier) if verifier else None
    )  # fmt: skip
    try:
        destination = await provider.authorization_url(departure)
    except ProviderFailed as error:
        raise AuthError(Code.UNEXPECTED_FAILURE, error.description) from None
    kept = states.Kept(verifier, destination.kept)
    new = NewFlow(
        provider_type=provider.name,
        authentication_method=states.METHOD,
        challenge=wish.challenge,
        referrer=wish.target,
        invite_token=invitation,
        oauth_client_state_id=uuid4() if verifier or destination.kept else None,
        linking_target_id=linking_target_id,
        is_email_optional=provider.is_email_optional,
        id=state,
    )
    return await _depart(accounts, asked, new, kept, destination.url, departure.redirect_uri)


async def _depart(
    accounts: Accounts, asked: Asked, new: NewFlow, kept: states.Kept, destination: str, callback: str
) -> Response:
    """Keep a flow, and send the browser to the provider; by way of the ticket if this request is not the browser's own."""
    if new.linking_target_id is None and browsers.is_at_home(asked, callback):
        by_post = browsers.comes_back_by_post(destination)
        binding = browsers.bind(accounts, asked, callback, by_post=by_post)
        async with accounts.transaction() as transaction:
            await states.begin(accounts, transaction, replace(new, browser_hash=binding.hash), kept)
        return _with_cookie(landing.redirect(destination, 302), binding)
    async with accounts.transaction() as transaction:
        await states.begin(accounts, transaction, new, kept)
        address = await browsers.wait(accounts, transaction, browsers.OAUTH, new.id, destination, callback)
    return landing.redirect(address, 302)


def callback_address(accounts: Accounts, provider: Provider) -> str:
    """Give where a provider sends browsers back to."""
    return provider.redirect_uri or f"{accounts.outbox.external_url.rstrip('/')}/callback"


def target_of(accounts: Accounts, candidates: list[str | None]) -> str:
    """Give where a browser lands at last: the first address that is allowed, else what the settings name."""
    own = accounts.settings
    allowed = [each for each in candidates if each and accounts.redirects.allows(each)]
    return accounts.redirects.target(allowed) if allowed else own.redirect_url or own.site_url


def _wish(accounts: Accounts, asked: Asked) -> _Wish:
    headers = asked.request.headers
    provider = asked.query("provider")
    if not provider:
        raise AuthError(Code.VALIDATION_FAILED, "Unsupported provider: none is named")
    candidates = [header(headers, "redirect_to"), asked.query("redirect_to"), header(headers, "referer")]
    return _Wish(
        provider,
        target_of(accounts, candidates),
        tuple(dict.fromkeys(asked.query("scopes").replace(",", " ").split())),
        _passed_on(asked),
        parse_challenge(asked.query("code_challenge"), asked.query("code_challenge_method")),
        asked.query("invite_token"),
    )


def _passed_on(asked: Asked) -> dict[str, str]:
    """Give the parameters that are the provider's business."""
    given = parse_qsl(asked.request.query, keep_blank_values=True)
    passed = {
        name: value
        for name, value in reversed(given)
        if name not in _OURS and name.lower() not in RESERVED and "\0" not in name + value
    }
    return {_RENAMED.get(name, name): value for name, value in reversed(passed.items())}
