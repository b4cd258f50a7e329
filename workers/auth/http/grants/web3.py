"""grant_type=web3: a wallet signs a message, by which its owner signs in. Source: docs/reference/auth.md, section 14."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import msgspec

from schemas.settings.auth_providers import WalletChain as ChainSettings
from workers.auth.accounts import audit
from workers.auth.accounts.passwords.login_failures import failures_logged
from workers.auth.federation.social.protocol import ProviderUser
from workers.auth.federation.wallets import ethereum, nonces, solana
from workers.auth.federation.wallets.message import BadMessage, WalletMessage, parse_message
from workers.auth.flows import captcha, external_sign_in
from workers.auth.flows.sign_in_audit import sign_in_entries
from workers.auth.http.context import EndpointContext
from workers.auth.http.token_response import TokenResponse
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.errors import OAuthError
from workers.auth.model.redirects.allow_list import RedirectRules
from workers.auth.model.request import AuthRequest

_PROVIDER = "web3"
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class SignInChain:
    """The address format and the signatures of one blockchain."""

    title: str
    is_address: Callable[[str], bool]
    is_signed_by: Callable[[str, str, str], bool]
    settle: Callable[[str], str]
    """Returns the canonical spelling of an address, for the id of an identity."""
    is_network: Callable[[str], bool]


CHAINS: Mapping[str, SignInChain] = {
    "ethereum": SignInChain(
        "Ethereum", ethereum.is_address, ethereum.is_signed_by, str.lower, ethereum.is_chain_id
    ),
    "solana": SignInChain("Solana", solana.is_address, solana.is_signed_by, str, lambda _: True),
}
"""The supported chains by name."""


class Web3GrantBody(msgspec.Struct):
    """Body of a sign-in with a wallet."""

    chain: str = ""
    message: str = ""
    signature: str = ""


async def web3(context: EndpointContext, request: AuthRequest) -> TokenResponse:
    """Start a session for the owner of a wallet. Raises: AuthError; OAuthError (400) if message or signature are not valid."""
    chains = context.settings.web3
    if not (chains.solana.enabled or chains.ethereum.enabled):
        raise rejections.WEB3_DISABLED()
    await captcha.check(context, request)
    body = request.read(Web3GrantBody)
    chain = CHAINS.get(body.chain)
    if chain is None:
        raise rejections.UNSUPPORTED_CHAIN()
    settings: ChainSettings = getattr(chains, body.chain)
    if not settings.enabled:
        raise rejections.WEB3_DISABLED()
    lasts, now = timedelta(seconds=float(settings.maximum_validity_duration)), context.now()
    message = _signed(chain, body)
    _refuse_elsewhere(message, context.redirects)
    _refuse_other_times(message, lasts, now)
    person = _person(body.chain, chain, message)
    aud, client = request.audience(context.settings.jwt_aud), request.device.address
    new_id = await external_sign_in.ask_hook(context, _PROVIDER, person, aud=aud, client=client)
    attempt = failures_logged(context, request, _PROVIDER, subject=person.subject)
    async with attempt, context.sending(external_sign_in.EMAIL) as transaction:
        until = message.issued_at + lasts
        if not await nonces.use_message(transaction, body.chain, message, body.message, until, now):
            raise _bad("Signed message was used already")
        entry = await external_sign_in.sign_in(
            context, transaction, _PROVIDER, person, is_email_optional=True, aud=aud, new_id=new_id
        )
        more = sign_in_entries(context, request, entry, _PROVIDER)
        if entry.rejection is None:
            more += audit.login(context, request, entry.user, _PROVIDER, SignInMethod.WEB3)
            grant = await context.start_session(
                transaction, entry.user, SignInMethod.WEB3, request.device, more=more
            )
        elif more:
            await transaction.run(*more)
        await entry.confirm(context, transaction)
    await entry.tell(context, client)  # raises the rejection, if there is one
    return TokenResponse(await context.session_json(entry.user, grant), grant)


def _signed(chain: SignInChain, body: Web3GrantBody) -> WalletMessage:
    """Parse the message, and verify that the account it names signed it. Raises: OAuthError."""
    try:
        message = parse_message(body.message, chain.title)
    except BadMessage as error:
        raise _bad(f"Signed {chain.title} {error}") from None
    if not chain.is_address(message.address):
        raise _bad(f"Signed {chain.title} message has no {chain.title} address")
    if not chain.is_network(message.chain_id):
        raise _bad(f"Signed {chain.title} message has no Chain ID that is one")
    if not chain.is_signed_by(message.address, body.message, body.signature):
        raise _bad("Signature does not match address in message")
    return message


def _refuse_elsewhere(message: WalletMessage, rules: RedirectRules) -> None:
    """Check that the message was signed for a URL of this project. Raises: OAuthError."""
    if not rules.allows(message.uri):
        raise _bad("Signed message is using URI which is not allowed on this server")
    uri = urlsplit(message.uri)
    if uri.scheme != "https" and not (uri.scheme == "http" and uri.hostname in _LOCAL):
        raise _bad("Signed message is using URI which does not use HTTPS")
    if uri.netloc.lower() != message.domain.lower() or message.scheme not in ("", uri.scheme):
        raise _bad("Signed message is using a Domain that does not match the one in URI")
    if not rules.allows(f"{uri.scheme}://{message.domain}/"):
        raise _bad("Signed message is using a Domain that is not allowed on this server")


def _refuse_other_times(message: WalletMessage, lasts: timedelta, now: datetime) -> None:
    """Check the times of the message. Raises: OAuthError."""
    if message.not_before is not None and now < message.not_before:
        raise _bad("Signed message becomes valid in the future")
    if message.expires_at is not None and now >= message.expires_at:
        raise _bad("Signed message is expired")
    if now - message.issued_at > lasts:
        raise _bad("Signed message was issued too long ago")
    if message.issued_at - now > lasts:
        raise _bad("Signed message was issued too far in the future")


def _person(name: str, chain: SignInChain, message: WalletMessage) -> ProviderUser:
    claims = {
        "address": message.address,
        "chain": name,
        "network": message.chain_id,
        "domain": message.domain,
        "statement": message.statement,
    }
    return ProviderUser(f"web3:{name}:{chain.settle(message.address)}", claims={"custom_claims": claims})


def _bad(description: str) -> OAuthError:
    return OAuthError("invalid_grant", description)
