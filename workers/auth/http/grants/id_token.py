"""grant_type=id_token: an application that has signed a user in with a provider by itself sends the ID token.

    find the provider    by its name, or (deprecated) by the issuer
    verify the token     signature, issuer, audience, times, access token; the nonce, of which the provider got the hash
    sign in              or link the identity to the caller; start a session

Source: docs/reference/auth.md, section 4.6; OpenID Connect Core 1.0, 3.1.3.7.
"""

import hashlib
import hmac
from typing import TypeAlias

import msgspec

from schemas.keys.secret_record import SecretRecord
from workers.auth.accounts import audit
from workers.auth.accounts.audit import AuditAction
from workers.auth.accounts.passwords.login_failures import failures_logged
from workers.auth.accounts.sessions.sessions import SessionGrant
from workers.auth.accounts.users import account_changes
from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.custom import is_custom
from workers.auth.federation.providers.oidc import (
    BadIdToken,
    IdTokenSigner,
    WrongAudience,
    id_token_claims,
    signer_of,
    unverified_issuer,
)
from workers.auth.federation.providers.profile import Document, read_openid_user, text
from workers.auth.federation.providers.registry import (
    IdTokenProvider,
    find_id_token_provider,
    provider_of_issuer,
)
from workers.auth.federation.social.protocol import ProviderError, ProviderUser
from workers.auth.flows import external_sign_in, identity_linking
from workers.auth.flows.external_sign_in import ExternalSignIn
from workers.auth.flows.sign_in_audit import sign_in_entries
from workers.auth.http.caller import find_caller
from workers.auth.http.context import EndpointContext
from workers.auth.http.token_response import TokenResponse
from workers.auth.model import rejections
from workers.auth.model.claims import SignInMethod
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError, OAuthError
from workers.auth.model.request import AuthRequest
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction

StartedUserSession: TypeAlias = tuple[AuthUser, SessionGrant]
"""The current row of a user, and his new session."""


class IdTokenGrantBody(SecretRecord, msgspec.Struct):
    """Body of a sign-in with an ID token."""

    id_token: str = ""
    provider: str = ""
    access_token: str = ""
    nonce: str = ""
    client_id: str = ""
    issuer: str = ""
    link_identity: bool = False


async def id_token(context: EndpointContext, request: AuthRequest) -> TokenResponse:
    """Start a session for the user of an ID token, or link the identity to the caller.

    Raises: AuthError; OAuthError (400) if the token is missing or not valid.
    """
    body = request.read(IdTokenGrantBody)
    if not body.id_token:
        raise _bad("id_token required")
    if not body.provider and not (body.client_id and body.issuer):
        raise _bad("provider or client_id and issuer required")
    name, provider = await _provider_of_token(context, request, body)
    provider_user = await _verified_user(provider, body)
    if body.link_identity:
        entry, session = await _link(context, request, name, provider_user)
    else:
        entry, session = await _enter(context, request, name, provider, provider_user)
    await entry.tell(context, request.device.address)
    if session is None:  # `tell` has raised the reason of an account without a session
        raise rejections.NO_SESSION_FOUND()
    return TokenResponse(await context.session_json(*session), session[1])


async def _provider_of_token(
    context: EndpointContext, request: AuthRequest, body: IdTokenGrantBody
) -> tuple[str, IdTokenProvider]:
    """Find the provider of a token, and the provider name of the identity. Raises: AuthError (400), OAuthError."""
    named = _issuer(body.id_token)
    name = body.provider.strip().lower() or provider_of_issuer(context, body.issuer)
    if not name and body.issuer in context.settings.allowed_id_token_issuers:
        return body.issuer, _of_issuer(context, body)
    async with context.transaction() as transaction:
        if body.link_identity:
            await find_caller(context, request, transaction)
        provider = await find_id_token_provider(context, transaction, name, named)
    if provider is None:
        raise rejections.ID_TOKEN_PROVIDER_UNKNOWN(provider=(body.provider or body.issuer)[:64])
    if not provider.is_enabled:
        raise rejections.ID_TOKEN_PROVIDER_OFF(issuer=name if is_custom(name) else provider.signers[0].issuer)
    return name, provider


def _of_issuer(context: EndpointContext, body: IdTokenGrantBody) -> IdTokenProvider:
    """Return a provider for an issuer that only `allowed_id_token_issuers` lists; the audience is the caller's client id."""
    client = ProviderClient(
        name=body.issuer,
        outgoing=context.outgoing,
        documents=context.documents,
        clock=context.clock,
        ids=(body.client_id,),
    )
    return IdTokenProvider(client, (IdTokenSigner(body.issuer),), read_openid_user)


async def _verified_user(provider: IdTokenProvider, body: IdTokenGrantBody) -> ProviderUser:
    """Verify the token and return its user. Raises: AuthError (500), OAuthError."""
    try:
        signer = signer_of(body.id_token, provider.signers)
        claims = await id_token_claims(provider.client, body.id_token, signer, access_token=body.access_token)
        if not provider.client.skips_nonce:
            _check_nonce(claims, body.nonce)
        return provider.read(claims)
    except WrongAudience as error:
        raise _bad(f"Unacceptable audience in id_token: [{' '.join(error.audiences)[:200]}]") from None
    except BadIdToken:
        raise _bad("Bad ID token") from None
    except ProviderError as error:
        raise AuthError(ErrorCode.UNEXPECTED_FAILURE, error.description) from None


def _check_nonce(claims: Document, nonce: str) -> None:
    """Check that the token has the hash of this nonce, or that neither has one. Raises: OAuthError."""
    token_nonce = text(claims, "nonce")
    if bool(token_nonce) != bool(nonce):
        raise _bad("Passed nonce and nonce in id_token should either both exist or not.")
    hashed = hashlib.sha256(nonce.encode(errors="surrogatepass")).hexdigest()
    if token_nonce and not hmac.compare_digest(hashed.encode(), token_nonce.encode(errors="surrogatepass")):
        raise _bad("Nonces mismatch")


async def _enter(
    context: EndpointContext,
    request: AuthRequest,
    name: str,
    provider: IdTokenProvider,
    provider_user: ProviderUser,
) -> tuple[ExternalSignIn, StartedUserSession | None]:
    aud = request.audience(context.settings.jwt_aud)
    new_id = await external_sign_in.ask_hook(
        context, name, provider_user, aud=aud, client=request.device.address
    )
    is_optional = provider.client.is_email_optional
    attempt = failures_logged(context, request, name, subject=provider_user.subject)
    async with attempt, context.sending(external_sign_in.EMAIL) as transaction:
        entry = await external_sign_in.sign_in(
            context, transaction, name, provider_user, is_email_optional=is_optional, aud=aud, new_id=new_id
        )
        return entry, await _begin(context, request, transaction, name, entry)


async def _link(
    context: EndpointContext, request: AuthRequest, name: str, provider_user: ProviderUser
) -> tuple[ExternalSignIn, StartedUserSession | None]:
    async with context.sending(external_sign_in.EMAIL) as transaction:
        caller = await find_caller(context, request, transaction)
        entry = await identity_linking.link(context, transaction, caller.user.id, name, provider_user)
        return entry, await _begin(context, request, transaction, name, entry, AuditAction.IDENTITY_LINKED)


async def _begin(
    context: EndpointContext,
    request: AuthRequest,
    transaction: Transaction,
    name: str,
    entry: ExternalSignIn,
    link_action: AuditAction | None = None,
) -> StartedUserSession | None:
    more = sign_in_entries(context, request, entry, name, link_action)
    if entry.rejection is not None:
        if more:
            await transaction.run(*more)
        await entry.confirm(context, transaction)
        return None
    more += audit.login(context, request, entry.user, name, SignInMethod.OAUTH)
    grant = await context.start_session(
        transaction, entry.user, SignInMethod.OAUTH, request.device, more=more
    )
    return await account_changes.reload(transaction, entry.user.id), grant


def _issuer(token: str) -> str:
    try:
        return unverified_issuer(token)
    except BadIdToken:
        return ""


def _bad(description: str) -> OAuthError:
    return OAuthError("invalid_request", description)
