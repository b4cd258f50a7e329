"""GET /authorize: a browser goes to a provider. Source: reference page "auth", section 11.1; RFC 6749, 4.1.1."""

from dataclasses import dataclass
from urllib.parse import parse_qsl
from uuid import UUID, uuid4

from schemas.http import Response, header
from workers.auth.asked import Asked
from workers.auth.context import Accounts
from workers.auth.error_codes import Code
from workers.auth.errors import AuthError
from workers.auth.flows import NewFlow
from workers.auth.mail import landing
from workers.auth.pkce import Challenge, new_verifier, parse_challenge, s256
from workers.auth.providers.registry import find_provider
from workers.auth.social import states
from workers.auth.social.protocol import Departure, Provider, ProviderFailed

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
    """Send a browser to a provider. Raises: AuthError (400, 404)."""
    return landing.redirect(await provider_address(accounts, asked), 302)


async def provider_address(accounts: Accounts, asked: Asked, *, linking_target_id: UUID | None = None) -> str:
    """Begin a sign-in, or the linking of an identity to a user, and give the address at the provider.

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
    async with accounts.transaction() as transaction:
        await states.begin(accounts, transaction, new, kept)
    return destination.url


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
