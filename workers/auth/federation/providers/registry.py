"""The table of providers by name, and the table of those whose ID tokens are accepted directly.

Source: docs/reference/auth.md, sections 4.6, 11.1 and 26.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from schemas.settings.auth_providers import ProviderSettings as Settings
from workers.auth.federation.context import FederationContext
from workers.auth.federation.providers import (
    apple,
    azure,
    custom,
    facebook,
    google,
    kakao,
    keycloak,
    snapchat,
    vercel_marketplace,
)
from workers.auth.federation.providers.bitbucket import bitbucket
from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.discord import discord
from workers.auth.federation.providers.figma import figma
from workers.auth.federation.providers.fly import fly
from workers.auth.federation.providers.github import github
from workers.auth.federation.providers.gitlab import gitlab
from workers.auth.federation.providers.linkedin import linkedin, linkedin_oidc
from workers.auth.federation.providers.notion import notion
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import Document, read_openid_user
from workers.auth.federation.providers.slack import slack, slack_oidc
from workers.auth.federation.providers.spotify import spotify
from workers.auth.federation.providers.twitch import twitch
from workers.auth.federation.providers.twitter import twitter
from workers.auth.federation.providers.workos import workos
from workers.auth.federation.providers.x import x
from workers.auth.federation.providers.zoom import zoom
from workers.auth.federation.social.protocol import ProviderUser, SocialProvider
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.database.transactions.interactive import Transaction

FACTORIES: Mapping[str, Callable[[ProviderClient], SocialProvider]] = {
    "apple": apple.apple,
    "azure": azure.azure,
    "bitbucket": bitbucket,
    "discord": discord,
    "facebook": facebook.facebook,
    "figma": figma,
    "fly": fly,
    "github": github,
    "gitlab": gitlab,
    "google": google.google,
    "kakao": kakao.kakao,
    "keycloak": keycloak.keycloak,
    "linkedin": linkedin,
    "linkedin_oidc": linkedin_oidc,
    "notion": notion,
    "slack": slack,
    "slack_oidc": slack_oidc,
    "snapchat": snapchat.snapchat,
    "spotify": spotify,
    "twitch": twitch,
    "twitter": twitter,
    "vercel_marketplace": vercel_marketplace.vercel_marketplace,
    "workos": workos,
    "x": x,
    "zoom": zoom,
}
"""Every provider of the settings."""


@dataclass(frozen=True, slots=True)
class IdTokenProvider:
    """A provider whose ID tokens are accepted: our client ids, the signers, how claims are read, and whether it is enabled."""

    client: ProviderClient
    signers: tuple[IdTokenSigner, ...]
    read: Callable[[Document], ProviderUser]
    is_enabled: bool = True


ID_TOKEN_PROVIDERS: Mapping[str, Callable[[ProviderClient, str], IdTokenProvider]] = {
    "apple": lambda client, named: IdTokenProvider(client, apple.SIGNERS, apple.read_apple),
    "azure": lambda client, named: IdTokenProvider(
        client, azure.azure_signers(client, named), azure.read_azure
    ),
    "facebook": lambda client, named: IdTokenProvider(
        replace(client, skips_nonce=True), facebook.SIGNERS, facebook.read_limited_login
    ),
    "google": lambda client, named: IdTokenProvider(client, google.SIGNERS, google.read_google),
    "kakao": lambda client, named: IdTokenProvider(
        client, kakao.kakao(client).signers, kakao.read_kakao_token
    ),
    "keycloak": lambda client, named: IdTokenProvider(
        client, keycloak.keycloak(client).signers, read_openid_user
    ),
    "snapchat": lambda client, named: IdTokenProvider(client, snapchat.SIGNERS, snapchat.read_snapchat_token),
    "vercel_marketplace": lambda client, named: IdTokenProvider(
        client, vercel_marketplace.SIGNERS, vercel_marketplace.read_vercel
    ),
}
"""The factories, which also get the issuer that the token names."""


async def find_provider(context: FederationContext, transaction: Transaction, name: str) -> SocialProvider:
    """Find a provider that is enabled. Raises: AuthError (400)."""
    if custom.is_custom(name):
        return custom.provider(await _custom(context, transaction, name))
    provider = name.strip().lower()
    if provider not in FACTORIES:
        raise _unsupported(f"Provider {name[:64]} could not be found")
    if not settings_of(context.settings, provider).enabled:
        raise _unsupported("provider is not enabled")
    return FACTORIES[provider](client_of(context, provider))


async def find_id_token_provider(
    context: FederationContext, transaction: Transaction, name: str, named: str
) -> IdTokenProvider | None:
    """Find a provider whose ID tokens are accepted, enabled or not; `named` is the issuer that the token names.

    Returns None for an unknown name. Raises: AuthError (500) if its secret cannot be opened.
    """
    if custom.is_custom(name):
        custom_provider = await custom.find(context, transaction, name)
        if (
            custom_provider is None
            or not custom_provider.row.issuer
            or not context.settings.custom_oauth.enabled
        ):
            return None
        return IdTokenProvider(
            custom_provider.client,
            custom.signers(custom_provider),
            custom.reader(custom_provider.row),
            custom_provider.row.enabled,
        )
    if name not in ID_TOKEN_PROVIDERS:
        return None
    id_tokens = ID_TOKEN_PROVIDERS[name](client_of(context, name), named)
    return replace(id_tokens, is_enabled=settings_of(context.settings, name).enabled)


def provider_of_issuer(context: FederationContext, issuer: str) -> str:
    """Return the name of the provider that has an issuer; empty for an unknown one."""
    for name, make in ID_TOKEN_PROVIDERS.items():
        client = client_of(context, name)
        signers = make(client, issuer).signers
        if any(issuer in (signer.issuer, *signer.aliases) for signer in signers):
            return name
    return "azure" if issuer.startswith(azure.ISSUERS) else ""


def client_of(context: FederationContext, name: str) -> ProviderClient:
    """Return our side towards a provider of the settings."""
    settings = settings_of(context.settings, name)
    more = (context.settings.ios_bundle_id,) if name == "apple" else ()
    return ProviderClient(
        name=name,
        outgoing=context.outgoing,
        documents=context.documents,
        clock=context.clock,
        ids=(*settings.client_ids, *filter(None, more)),
        secret=settings.secret or Secret(""),
        url=settings.url.rstrip("/"),
        redirect_uri=settings.redirect_uri,
        is_email_optional=settings.email_optional,
        skips_nonce=settings.skip_nonce_check,
    )


def settings_of(own: Auth, name: str) -> Settings:
    """Return the settings of a provider of the table."""
    settings: Settings = getattr(own.external, name)
    return settings


async def _custom(context: FederationContext, transaction: Transaction, name: str) -> custom.CustomProvider:
    custom_provider = await custom.find(context, transaction, name)
    if custom_provider is None or not context.settings.custom_oauth.enabled:
        raise _unsupported(f"Provider {name[:64]} could not be found")
    if not custom_provider.row.enabled:
        raise _unsupported("provider is not enabled")
    return custom_provider


def _unsupported(reason: str) -> AuthError:
    return AuthError(ErrorCode.VALIDATION_FAILED, f"Unsupported provider: {reason}")
