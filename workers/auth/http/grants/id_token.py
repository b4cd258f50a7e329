"""grant_type=id_token: an application that has signed a user in with a provider itself brings the ID token.

    find the provider    by its name, or (deprecated) by the issuer
    verify the token     signature, issuer, audience, times, access token; the nonce, which came hashed to the provider
    enter the account    or link the identity to the caller; a session begins

Source: reference page "auth", section 4.6; OpenID Connect Core 1.0, 3.1.3.7.
"""

import hashlib
import hmac
from typing import TypeAlias

import msgspec

from workers.auth import audit
from workers.auth.accounts.codes.entered import Entered
from workers.auth.accounts.passwords.login_failures import noted
from workers.auth.accounts.sessions.claims import Method
from workers.auth.accounts.sessions.sessions import Granted
from workers.auth.accounts.users import linking
from workers.auth.accounts.users.linking import Entry
from workers.auth.audit import Action
from workers.auth.context import Accounts
from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.custom import is_custom
from workers.auth.federation.providers.oidc import (
    BadIdToken,
    Signer,
    WrongAudience,
    id_token_claims,
    signer_of,
    unverified_issuer,
)
from workers.auth.federation.providers.profile import Document, openid_person, text
from workers.auth.federation.providers.registry import IdTokens, find_id_tokens, provider_of_issuer
from workers.auth.federation.social import account, joining
from workers.auth.federation.social.protocol import ProviderFailed, ProviderUser
from workers.auth.federation.social.trail import trail
from workers.auth.http.endpoints.present import present
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.request import Asked
from workers.auth.model.rows import User
from workers.database.interactive import Transaction

Begun: TypeAlias = tuple[User, Granted]
"""A user as he is now, and his new session."""


class Body(msgspec.Struct):
    """Body of a sign-in with an ID token."""

    id_token: str = ""
    provider: str = ""
    access_token: str = ""
    nonce: str = ""
    client_id: str = ""
    issuer: str = ""
    link_identity: bool = False

    def __repr__(self) -> str:
        return f"Body(provider={self.provider!r})"


async def id_token(accounts: Accounts, asked: Asked) -> Entered:
    """Give a session to the user of an ID token, or link the identity to the caller.

    Raises: AuthError; OAuthError (400) if the token is missing or does not hold.
    """
    body = asked.read(Body)
    if not body.id_token:
        raise _bad("id_token required")
    if not body.provider and not (body.client_id and body.issuer):
        raise _bad("provider or client_id and issuer required")
    name, taken = await _taken(accounts, asked, body)
    person = await _person(taken, body)
    if body.link_identity:
        entry, begun = await _link(accounts, asked, name, person)
    else:
        entry, begun = await _enter(accounts, asked, name, taken, person)
    await entry.tell(accounts, asked.device.address)
    if begun is None:  # an entry without a session has told why
        raise rejections.NO_SESSION_FOUND()
    return Entered(await accounts.session_shown(*begun), begun[1])


async def _taken(accounts: Accounts, asked: Asked, body: Body) -> tuple[str, IdTokens]:
    """Find how the token is to be taken, and the name that the identity gets. Raises: AuthError (400), OAuthError."""
    named = _issuer(body.id_token)
    name = body.provider.strip().lower() or provider_of_issuer(accounts, body.issuer)
    if not name and body.issuer in accounts.settings.allowed_id_token_issuers:
        return body.issuer, _of_issuer(accounts, body)
    async with accounts.transaction() as transaction:
        if body.link_identity:
            await present(accounts, asked, transaction)
        found = await find_id_tokens(accounts, transaction, name, named)
    if found is None:
        raise rejections.ID_TOKEN_PROVIDER_UNKNOWN(provider=(body.provider or body.issuer)[:64])
    if not found.is_enabled:
        raise rejections.ID_TOKEN_PROVIDER_OFF(issuer=name if is_custom(name) else found.signers[0].issuer)
    return name, found


def _of_issuer(accounts: Accounts, body: Body) -> IdTokens:
    """Take tokens of an issuer that the settings list and no provider has: made for whichever client the caller names."""
    client = Client(
        name=body.issuer,
        outgoing=accounts.outgoing,
        documents=accounts.documents,
        clock=accounts.clock,
        ids=(body.client_id,),
    )
    return IdTokens(client, (Signer(body.issuer),), openid_person)


async def _person(taken: IdTokens, body: Body) -> ProviderUser:
    """Verify the token and give the person that it names. Raises: AuthError (500), OAuthError."""
    try:
        signer = signer_of(body.id_token, taken.signers)
        claims = await id_token_claims(taken.client, body.id_token, signer, access_token=body.access_token)
        if not taken.client.skips_nonce:
            _check_nonce(claims, body.nonce)
        return taken.read(claims)
    except WrongAudience as error:
        raise _bad(f"Unacceptable audience in id_token: [{' '.join(error.audiences)[:200]}]") from None
    except BadIdToken:
        raise _bad("Bad ID token") from None
    except ProviderFailed as error:
        raise AuthError(Code.UNEXPECTED_FAILURE, error.description) from None


def _check_nonce(claims: Document, nonce: str) -> None:
    """Raise unless the token was asked for with the hash of this nonce, or neither has one. Raises: OAuthError."""
    told = text(claims, "nonce")
    if bool(told) != bool(nonce):
        raise _bad("Passed nonce and nonce in id_token should either both exist or not.")
    hashed = hashlib.sha256(nonce.encode(errors="surrogatepass")).hexdigest()
    if told and not hmac.compare_digest(hashed.encode(), told.encode(errors="surrogatepass")):
        raise _bad("Nonces mismatch")


async def _enter(
    accounts: Accounts, asked: Asked, name: str, taken: IdTokens, person: ProviderUser
) -> tuple[Entry, Begun | None]:
    aud = asked.audience(accounts.settings.jwt_aud)
    new_id = await linking.admit(accounts, name, person, aud=aud, client=asked.device.address)
    is_optional = taken.client.is_email_optional
    try:
        trying = noted(accounts, asked, name, subject=person.subject)
        async with trying, accounts.transaction() as transaction:
            entry = await linking.enter(
                accounts, transaction, name, person, is_email_optional=is_optional, aud=aud, new_id=new_id
            )
            return entry, await _begin(accounts, asked, transaction, name, entry)
    except AuthError as error:
        if error.code is Code.USER_BANNED:
            raise rejections.USER_BANNED(status=400) from None
        raise


async def _link(
    accounts: Accounts, asked: Asked, name: str, person: ProviderUser
) -> tuple[Entry, Begun | None]:
    async with accounts.transaction() as transaction:
        caller = await present(accounts, asked, transaction)
        entry = await joining.link(accounts, transaction, caller.user.id, name, person)
        return entry, await _begin(accounts, asked, transaction, name, entry, Action.IDENTITY_LINKED)


async def _begin(
    accounts: Accounts,
    asked: Asked,
    transaction: Transaction,
    name: str,
    entry: Entry,
    deed: Action | None = None,
) -> Begun | None:
    more = trail(accounts, asked, entry, name, deed)
    if entry.refusal is not None:
        if more:
            await transaction.run(*more)
        return None
    more += audit.login(accounts, asked, entry.user, name, Method.OAUTH)
    granted = await accounts.begin_session(transaction, entry.user, Method.OAUTH, asked.device, more=more)
    return await account.again(transaction, entry.user.id), granted


def _issuer(token: str) -> str:
    try:
        return unverified_issuer(token)
    except BadIdToken:
        return ""


def _bad(description: str) -> OAuthError:
    return OAuthError("invalid_request", description)
