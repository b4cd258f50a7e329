"""The server's part of an OAuth sign-in: the callback's code for tokens, the tokens for the user's profile.

    fields of the callback  ->  code  ->  TokenResponse  ->  ProviderUser       all of it: `ProviderProfile`

No transaction is open while the provider is asked. Danger: a code of one provider must never be sent to another one, or an
attacker's provider would learn it (mix-up, RFC 9700, 4.4). So the provider is the one that the claimed state names, and an
`iss` in the callback must be that provider's issuer (RFC 9207). Source: docs/reference/auth.md, section 11.2; RFC 6749, 4.1.2
and 4.1.3.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from workers.auth.accounts.flow_state import FlowState, ProviderTokens
from workers.auth.federation.context import FederationContext
from workers.auth.federation.providers.registry import find_provider
from workers.auth.federation.social.protocol import (
    AuthorizationResponse,
    ProviderError,
    ProviderUser,
    SocialProvider,
)
from workers.auth.federation.social.states import ClaimedState
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError, OAuthError

_MAX_ERROR_LENGTH = 500
_SHARE_OF_TIME = 0.8


@dataclass(frozen=True, slots=True)
class ProviderProfile:
    """A user as a provider describes him, the provider's name, and its tokens, which the application gets."""

    provider: str
    user: ProviderUser
    tokens: ProviderTokens


async def fetch_profile(
    context: FederationContext, state: ClaimedState, fields: Mapping[str, str]
) -> ProviderProfile:
    """Exchange the code of a callback and fetch the user's profile.

    Raises: AuthError; OAuthError with the provider's own error; DatabaseError and its siblings.
    """
    if fields.get("error"):
        # The provider's words, or an attacker's who made this URL: passed on as text, nothing is done by them.
        description = fields.get("error_description", "")
        raise OAuthError(fields["error"][:_MAX_ERROR_LENGTH], description[:_MAX_ERROR_LENGTH])
    if not (fields.get("code") or fields.get("oauth_verifier")):
        raise rejections.NO_CODE()
    provider = await _provider_of(context, state.flow)
    issuer = fields.get("iss")
    if issuer is not None and provider.issuer and issuer != provider.issuer:
        raise rejections.WRONG_ISSUER()
    response = AuthorizationResponse(
        fields, callback_address(context, provider), state.secrets.code_verifier, state.secrets.secret
    )
    return await _ask(context, provider, response)


def callback_address(context: FederationContext, provider: SocialProvider) -> str:
    """Return the `redirect_uri` towards a provider: that of its settings, else `/callback` of this service."""
    return provider.redirect_uri or f"{context.outbox.external_url.rstrip('/')}/callback"


async def _provider_of(context: FederationContext, flow: FlowState) -> SocialProvider:
    """Return the provider that a flow names. Raises: AuthError (400) if it was disabled since the flow began."""
    try:
        async with context.transaction() as transaction:
            return await find_provider(context, transaction, flow.provider_type)
    except AuthError as error:
        if error.code is not ErrorCode.VALIDATION_FAILED:
            raise
        raise AuthError(ErrorCode.OAUTH_PROVIDER_NOT_SUPPORTED, error.message) from None


async def _ask(
    context: FederationContext, provider: SocialProvider, response: AuthorizationResponse
) -> ProviderProfile:
    # A browser waits for this: it must learn that the provider is silent before its own request times out.
    limit_s = float(context.settings.max_request_duration) * _SHARE_OF_TIME
    try:
        async with asyncio.timeout(limit_s):
            tokens = await provider.exchange(response)
            user = await provider.user(tokens, response.fields)
    except TimeoutError:
        message = f"{provider.name} did not answer in time"
        raise AuthError(ErrorCode.UNEXPECTED_FAILURE, message, 503) from None
    except ProviderError as error:
        if error.error:
            raise OAuthError(error.error, error.description) from None
        raise AuthError(ErrorCode.UNEXPECTED_FAILURE, error.description) from None
    return ProviderProfile(provider.name, user, ProviderTokens(tokens.access_token, tokens.refresh_token))
