"""grant_type=web3: a wallet signs that its owner signs in. Source: reference page "auth", section 14."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import msgspec

from schemas.settings.auth_providers import Chain as ChainSettings
from workers.auth import audit
from workers.auth.accounts.codes.entered import Entered
from workers.auth.accounts.passwords.login_failures import noted
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.users import linking
from workers.auth.context import Accounts
from workers.auth.federation.social.protocol import ProviderUser
from workers.auth.federation.social.trail import trail
from workers.auth.federation.wallets import ethereum, nonces, solana
from workers.auth.federation.wallets.message import BadMessage, Message, parse_message
from workers.auth.flows import captcha
from workers.auth.flows.redirects import RedirectRules
from workers.auth.model import rejections
from workers.auth.model.errors import OAuthError
from workers.auth.model.request import Asked

_PROVIDER = "web3"
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Chain:
    """How accounts of one chain are written, and how they sign."""

    title: str
    is_address: Callable[[str], bool]
    is_signed_by: Callable[[str, str, str], bool]
    settle: Callable[[str], str]
    """The one spelling of an address in the id of an identity."""
    is_network: Callable[[str], bool]


CHAINS: Mapping[str, Chain] = {
    "ethereum": Chain(
        "Ethereum", ethereum.is_address, ethereum.is_signed_by, str.lower, ethereum.is_chain_id
    ),
    "solana": Chain("Solana", solana.is_address, solana.is_signed_by, str, lambda _: True),
}
"""Every chain, one entry each."""


class Body(msgspec.Struct):
    """Body of a sign-in with a wallet."""

    chain: str = ""
    message: str = ""
    signature: str = ""


async def web3(accounts: Accounts, asked: Asked) -> Entered:
    """Give a session to the owner of a wallet. Raises: AuthError; OAuthError (400) if message or signature do not hold."""
    await captcha.check(accounts, asked)
    body = asked.read(Body)
    chain = CHAINS.get(body.chain)
    if chain is None:
        raise rejections.UNSUPPORTED_CHAIN()
    settings: ChainSettings = getattr(accounts.settings.web3, body.chain)
    if not settings.enabled:
        raise rejections.WEB3_DISABLED()
    lasts, now = timedelta(seconds=float(settings.maximum_validity_duration)), accounts.now()
    message = _signed(chain, body)
    _refuse_elsewhere(message, accounts.redirects)
    _refuse_other_times(message, lasts, now)
    person = _person(body.chain, chain, message)
    aud, client = asked.audience(accounts.settings.jwt_aud), asked.device.address
    new_id = await linking.admit(accounts, _PROVIDER, person, aud=aud, client=client)
    trying = noted(accounts, asked, _PROVIDER, subject=person.subject)
    async with trying, accounts.transaction() as transaction:
        until = message.issued_at + lasts
        if not await nonces.use(transaction, body.chain, message, body.message, until, now):
            raise _bad("Signed message was used already")
        entry = await linking.enter(
            accounts, transaction, _PROVIDER, person, is_email_optional=True, aud=aud, new_id=new_id
        )
        more = trail(accounts, asked, entry, _PROVIDER)
        if entry.refusal is None:
            more += audit.login(accounts, asked, entry.user, _PROVIDER, Method.WEB3)
            granted = await accounts.begin_session(
                transaction, entry.user, Method.WEB3, asked.device, more=more
            )
        elif more:
            await transaction.run(*more)
    await entry.tell(accounts, client)  # raises the refusal, if there is one
    return Entered(await accounts.session_shown(entry.user, granted), granted)


def _signed(chain: Chain, body: Body) -> Message:
    """Read the message, if the account that it names signed it. Raises: OAuthError."""
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


def _refuse_elsewhere(message: Message, rules: RedirectRules) -> None:
    """Raise unless the message was signed for an address of this project. Raises: OAuthError."""
    if not rules.allows(message.uri):
        raise _bad("Signed message is using URI which is not allowed on this server")
    uri = urlsplit(message.uri)
    if uri.scheme != "https" and not (uri.scheme == "http" and uri.hostname in _LOCAL):
        raise _bad("Signed message is using URI which does not use HTTPS")
    if uri.netloc.lower() != message.domain.lower() or message.scheme not in ("", uri.scheme):
        raise _bad("Signed message is using a Domain that does not match the one in URI")
    if not rules.allows(f"{uri.scheme}://{message.domain}/"):
        raise _bad("Signed message is using a Domain that is not allowed on this server")


def _refuse_other_times(message: Message, lasts: timedelta, now: datetime) -> None:
    """Raise unless the message is valid now. Raises: OAuthError."""
    if message.not_before is not None and now < message.not_before:
        raise _bad("Signed message becomes valid in the future")
    if message.expires_at is not None and now >= message.expires_at:
        raise _bad("Signed message is expired")
    if now - message.issued_at > lasts:
        raise _bad("Signed message was issued too long ago")
    if message.issued_at - now > lasts:
        raise _bad("Signed message was issued too far in the future")


def _person(name: str, chain: Chain, message: Message) -> ProviderUser:
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
