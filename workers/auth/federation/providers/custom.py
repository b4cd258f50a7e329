"""Custom providers, which an administrator adds at runtime: their rows, and the providers made of them.

Source: docs/reference/auth.md, sections 24.3 and 26.3. `custom_rules.py` checks new rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from schemas.keys.secret import Secret
from workers.auth.federation.context import FederationContext
from workers.auth.federation.document_cache import LASTS_S, Published
from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.custom_rules import refuse_bad_discovery
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2, Reader
from workers.auth.federation.providers.oidc import IdTokenSigner
from workers.auth.federation.providers.profile import (
    Document,
    flag,
    make_user,
    member,
    nonempty,
    single_email,
    standard_claims,
    text,
)
from workers.auth.federation.social.protocol import ProviderError, ProviderTokenResponse, ProviderUser
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.vault import CannotOpen, SealPurpose
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.providers", "custom.sql")
PREFIX = "custom:"


class CustomProviderRow(Struct, frozen=True, kw_only=True):
    """A row of `auth.custom_oauth_providers`; the client secret is sealed."""

    id: UUID
    provider_type: str
    identifier: str
    name: str
    client_id: str
    client_secret: str
    acceptable_client_ids: list[str] = []
    scopes: list[str] = []
    pkce_enabled: bool = True
    attribute_mapping: dict[str, str] = {}
    custom_claims_allowlist: list[str] = []
    authorization_params: dict[str, str] = {}
    enabled: bool = True
    email_optional: bool = False
    issuer: str | None = None
    discovery_url: str | None = None
    skip_nonce_check: bool = False
    cached_discovery: Published | None = None
    discovery_cached_at: datetime | None = None
    authorization_url: str | None = None
    token_url: str | None = None
    userinfo_url: str | None = None
    jwks_uri: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    def __repr__(self) -> str:
        return f"CustomProviderRow({self.identifier!r})"


@dataclass(frozen=True, slots=True)
class CustomProvider:
    """A row with its opened client."""

    row: CustomProviderRow
    client: ProviderClient = field(repr=False)


def is_custom(name: str) -> bool:
    """Return whether a name belongs to a custom provider (`custom:...`)."""
    return name.startswith(PREFIX)


async def find_row(transaction: Transaction, identifier: str) -> CustomProviderRow | None:
    """Find a provider by its name, which begins with `custom:`."""
    return await transaction.one(_SQL["by_identifier"], CustomProviderRow, identifier)


async def list_rows(transaction: Transaction, provider_type: str) -> list[CustomProviderRow]:
    """List the providers of a type, of all types if it is empty."""
    return await transaction.all(_SQL["all"], CustomProviderRow, provider_type)


async def add(transaction: Transaction, row: CustomProviderRow, *, most: int) -> None:
    """Add a provider; `most` 0 means no quota. Raises: AuthError (400 over the quota, 409 for a name that is taken)."""
    await transaction.rows(_SQL["lock_table"])
    if await find_row(transaction, row.identifier) is not None:
        raise AuthError(ErrorCode.CONFLICT, f"Custom provider {row.identifier} exists already")
    counted = await transaction.rows(_SQL["count"])
    if most and int(counted[0][0] or 0) >= most:
        raise AuthError(
            ErrorCode.OVER_CUSTOM_PROVIDER_QUOTA,
            f"There are {most} custom providers already, which is the most",
        )
    await transaction.rows(_SQL["insert"], msgspec.json.encode(row))


async def lock(transaction: Transaction, identifier: str) -> None:
    """Lock a provider's row until the transaction ends."""
    await transaction.rows(_SQL["lock"], identifier)


async def change(transaction: Transaction, row: CustomProviderRow) -> None:
    """Store a changed provider."""
    await transaction.rows(_SQL["update"], msgspec.json.encode(row))


async def remove(transaction: Transaction, identifier: str) -> bool:
    """Remove a provider. Return whether it existed."""
    return bool(await transaction.rows(_SQL["delete"], identifier))


# --- Sign-in -----------------------------------------------------------------------------------------------------


async def find(context: FederationContext, transaction: Transaction, name: str) -> CustomProvider | None:
    """Find a provider by its name, enabled or not. Raises: AuthError (500) if its secret cannot be opened."""
    row = await find_row(transaction, name.strip().lower())
    if row is None:
        return None
    try:
        secret = context.vault.open(row.client_secret, row.id, SealPurpose.PROVIDER_SECRET)
    except CannotOpen as error:
        raise AuthError(
            ErrorCode.UNEXPECTED_FAILURE, f"The secret of {row.identifier} cannot be opened: {error}"
        ) from None
    client = ProviderClient(
        name=row.identifier,
        outgoing=context.outgoing,
        documents=context.documents,
        clock=context.clock,
        ids=(row.client_id, *row.acceptable_client_ids),
        secret=Secret(secret),
        is_email_optional=row.email_optional,
        skips_nonce=row.skip_nonce_check,
        only_public=not context.settings.custom_oauth.allow_private_hosts,
    )
    return CustomProvider(row, client)


def provider(found: CustomProvider) -> OAuth2:
    """Return the provider of a row."""
    row = found.row
    is_openid = row.provider_type == "oidc"
    scopes = ("openid", *row.scopes) if is_openid else tuple(row.scopes)
    return OAuth2(
        client=found.client,
        read=_openid_user(row) if is_openid else _oauth_user(row),
        endpoints=Endpoints()
        if is_openid
        else Endpoints(row.authorization_url or "", row.token_url or "", row.userinfo_url or ""),
        scopes=tuple(dict.fromkeys(scopes)),
        uses_pkce=row.pkce_enabled,
        issuer=(row.issuer or "") if is_openid else "",
        signers=signers(found) if is_openid else (),
        parameters=row.authorization_params,
    )


def signers(found: CustomProvider) -> tuple[IdTokenSigner, ...]:
    """Return the signer of ID tokens, with the stored discovery document as long as it is fresh."""
    row, now = found.row, found.client.clock()
    kept_at = row.discovery_cached_at
    is_fresh = kept_at is not None and now - kept_at.timestamp() < LASTS_S
    return (
        IdTokenSigner(
            row.issuer or "",
            discovery=row.discovery_url or "",
            document=row.cached_discovery if is_fresh else None,
            check=refuse_bad_discovery,
        ),
    )


def reader(row: CustomProviderRow) -> Callable[[Document], ProviderUser]:
    """Return the reader of claims, which applies the row's mapping and allowlist."""

    def read(claims: Document) -> ProviderUser:
        return read_custom(claims, row.attribute_mapping, row.custom_claims_allowlist)

    return read


def read_custom(claims: Document, mapping: Mapping[str, str], allowed: list[str]) -> ProviderUser:
    """Read claims. The mapping goes from our claim names to theirs, which may be dotted paths."""
    mapped = {**claims, **{ours: _named(claims, theirs) for ours, theirs in mapping.items()}}
    emails = single_email(text(mapped, "email"), is_verified=flag(mapped, "email_verified"))
    standard = standard_claims(mapped)
    renamed = {ours: mapped[ours] for ours in mapping if ours not in ("sub", "email")}
    custom = {name: claims[name] for name in allowed if name in claims}
    return make_user(
        text(mapped, "sub"), emails, nonempty(**{**standard, **renamed, "custom_claims": custom})
    )


def _named(claims: Document, theirs: str) -> object:
    return claims[theirs] if theirs in claims else member(claims, *theirs.split("."))


def _oauth_user(row: CustomProviderRow) -> Reader:
    async def user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
        return reader(row)(await provider.client.profile(provider.endpoints.user, tokens.access_token))

    return user


def _openid_user(row: CustomProviderRow) -> Reader:
    async def user(provider: OAuth2, tokens: ProviderTokenResponse, _: Fields) -> ProviderUser:
        """Read the ID token, and without an address in it the userinfo document, which must have the same subject."""
        claims = dict(await provider.id_claims(tokens.id_token, tokens.access_token))
        address = (await provider.resolved()).user
        if address and not text(claims, "email"):
            more = await provider.client.profile(address, tokens.access_token)
            if text(more, "sub") != text(claims, "sub"):
                raise ProviderError(
                    "Error getting user profile from external provider: it tells of another user"
                )
            claims = {**more, **claims}
        return reader(row)(claims)

    return user
