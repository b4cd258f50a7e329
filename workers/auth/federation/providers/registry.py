"""The providers by their names: a table. Beside it those whose ID tokens are taken.

Source: reference page "auth", sections 4.6, 11.1 and 26.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from schemas.keys.secret import Secret
from schemas.settings.auth import Auth
from schemas.settings.auth_providers import Provider as Settings
from workers.auth.context import Accounts
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
from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.discord import discord
from workers.auth.federation.providers.figma import figma
from workers.auth.federation.providers.fly import fly
from workers.auth.federation.providers.github import github
from workers.auth.federation.providers.gitlab import gitlab
from workers.auth.federation.providers.linkedin import linkedin, linkedin_oidc
from workers.auth.federation.providers.notion import notion
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import Document, openid_person
from workers.auth.federation.providers.slack import slack, slack_oidc
from workers.auth.federation.providers.spotify import spotify
from workers.auth.federation.providers.twitch import twitch
from workers.auth.federation.providers.twitter import twitter
from workers.auth.federation.providers.workos import workos
from workers.auth.federation.providers.x import x
from workers.auth.federation.providers.zoom import zoom
from workers.auth.federation.social.protocol import Provider, ProviderUser
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.database.interactive import Transaction

FACTORIES: Mapping[str, Callable[[Client], Provider]] = {
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
"""Every provider that the settings name, one line each."""


@dataclass(frozen=True, slots=True)
class IdTokens:
    """A provider whose ID tokens are taken: as whom, who signs them, how they read, and whether it is open."""

    client: Client
    signers: tuple[Signer, ...]
    read: Callable[[Document], ProviderUser]
    is_enabled: bool = True


ID_TOKENS: Mapping[str, Callable[[Client, str], IdTokens]] = {
    "apple": lambda client, named: IdTokens(client, apple.SIGNERS, apple.read_apple),
    "azure": lambda client, named: IdTokens(client, azure.azure_signers(client, named), azure.read_azure),
    "facebook": lambda client, named: IdTokens(
        replace(client, skips_nonce=True), facebook.SIGNERS, facebook.read_limited_login
    ),
    "google": lambda client, named: IdTokens(client, google.SIGNERS, google.read_google),
    "kakao": lambda client, named: IdTokens(client, kakao.kakao(client).signers, kakao.read_kakao_token),
    "keycloak": lambda client, named: IdTokens(client, keycloak.keycloak(client).signers, openid_person),
    "snapchat": lambda client, named: IdTokens(client, snapchat.SIGNERS, snapchat.read_snapchat_token),
    "vercel_marketplace": lambda client, named: IdTokens(
        client, vercel_marketplace.SIGNERS, vercel_marketplace.read_vercel
    ),
}
"""Those whose ID tokens are taken, with what the token names as its issuer."""


async def find_provider(accounts: Accounts, transaction: Transaction, name: str) -> Provider:
    """Find a provider that is enabled. Raises: AuthError (400)."""
    if custom.is_custom(name):
        return custom.provider(await _custom(accounts, transaction, name))
    wanted = name.strip().lower()
    if wanted not in FACTORIES:
        raise _unsupported(f"Provider {name[:64]} could not be found")
    if not settings_of(accounts.settings, wanted).enabled:
        raise _unsupported("provider is not enabled")
    return FACTORIES[wanted](client_of(accounts, wanted))


async def find_id_tokens(
    accounts: Accounts, transaction: Transaction, name: str, named: str
) -> IdTokens | None:
    """Find a provider whose ID tokens are taken, open or not; `named` is what a token names as its issuer.

    None if there is none of this name. Raises: AuthError (500) if its secret cannot be opened.
    """
    if custom.is_custom(name):
        found = await custom.find(accounts, transaction, name)
        if found is None or not found.row.issuer or not accounts.settings.custom_oauth.enabled:
            return None
        return IdTokens(found.client, custom.signers(found), custom.reader(found.row), found.row.enabled)
    if name not in ID_TOKENS:
        return None
    taken = ID_TOKENS[name](client_of(accounts, name), named)
    return replace(taken, is_enabled=settings_of(accounts.settings, name).enabled)


def provider_of_issuer(accounts: Accounts, issuer: str) -> str:
    """Give the name of the provider that has an issuer; empty if it is none's."""
    for name, make in ID_TOKENS.items():
        client = client_of(accounts, name)
        signers = make(client, issuer).signers
        if any(issuer in (each.issuer, *each.aliases) for each in signers):
            return name
    return "azure" if issuer.startswith(azure.ISSUERS) else ""


def client_of(accounts: Accounts, name: str) -> Client:
    """Give our side towards a provider of the settings."""
    own = settings_of(accounts.settings, name)
    more = (accounts.settings.ios_bundle_id,) if name == "apple" else ()
    return Client(
        name=name,
        outgoing=accounts.outgoing,
        documents=accounts.documents,
        clock=accounts.clock,
        ids=(*own.client_ids, *filter(None, more)),
        secret=own.secret or Secret(""),
        url=own.url.rstrip("/"),
        redirect_uri=own.redirect_uri,
        is_email_optional=own.email_optional,
        skips_nonce=own.skip_nonce_check,
    )


def settings_of(own: Auth, name: str) -> Settings:
    """Give the settings of a provider of the table."""
    found: Settings = getattr(own.external, name)
    return found


async def _custom(accounts: Accounts, transaction: Transaction, name: str) -> custom.Found:
    found = await custom.find(accounts, transaction, name)
    if found is None or not accounts.settings.custom_oauth.enabled:
        raise _unsupported(f"Provider {name[:64]} could not be found")
    if not found.row.enabled:
        raise _unsupported("provider is not enabled")
    return found


def _unsupported(reason: str) -> AuthError:
    return AuthError(Code.VALIDATION_FAILED, f"Unsupported provider: {reason}")
