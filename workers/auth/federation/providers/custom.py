"""Providers that an administrator adds while the platform runs: their rows, and what signs in by them.

Source: reference page "auth", sections 24.3 and 26.3. The rules by which rows come to be stand in `custom_rules.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from schemas.keys.secret import Secret
from workers.auth.context import Accounts
from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.custom_rules import refuse_bad_discovery
from workers.auth.federation.providers.documents import LASTS_S, Published
from workers.auth.federation.providers.oauth2 import Endpoints, Fields, OAuth2, Reader
from workers.auth.federation.providers.oidc import Signer
from workers.auth.federation.providers.profile import (
    Document,
    flag,
    known,
    member,
    one_email,
    person,
    standard_claims,
    text,
)
from workers.auth.federation.social.protocol import Grant, ProviderFailed, ProviderUser
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.vault import CannotOpen
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.providers", "custom.sql")
PREFIX = "custom:"


class Row(Struct, frozen=True, kw_only=True):
    """A provider as the database holds it; its secret is sealed."""

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
        return f"Row({self.identifier!r})"


@dataclass(frozen=True, slots=True)
class Found:
    """A provider with what signs in by it."""

    row: Row
    client: Client = field(repr=False)


def is_custom(name: str) -> bool:
    """Tell whether a name is one of a custom provider."""
    return name.startswith(PREFIX)


async def find_row(transaction: Transaction, identifier: str) -> Row | None:
    """Find a provider by its name, `custom:` included."""
    return await transaction.one(_SQL["by_identifier"], Row, identifier)


async def list_rows(transaction: Transaction, provider_type: str) -> list[Row]:
    """List the providers of a type, of all types if it is empty."""
    return await transaction.all(_SQL["all"], Row, provider_type)


async def add(transaction: Transaction, row: Row, *, most: int) -> None:
    """Add a provider; 0 is no limit of their number. Raises: AuthError (400 over the quota, 409 for a name that is taken)."""
    await transaction.rows(_SQL["alone"])
    if await find_row(transaction, row.identifier) is not None:
        raise AuthError(Code.CONFLICT, f"Custom provider {row.identifier} exists already")
    counted = await transaction.rows(_SQL["count"])
    if most and int(counted[0][0] or 0) >= most:
        raise AuthError(
            Code.OVER_CUSTOM_PROVIDER_QUOTA, f"There are {most} custom providers already, which is the most"
        )
    await transaction.rows(_SQL["insert"], msgspec.json.encode(row))


async def lock(transaction: Transaction, identifier: str) -> None:
    """Keep others from changing a provider until the transaction ends."""
    await transaction.rows(_SQL["lock"], identifier)


async def change(transaction: Transaction, row: Row) -> None:
    """Keep a provider as it is now."""
    await transaction.rows(_SQL["update"], msgspec.json.encode(row))


async def remove(transaction: Transaction, identifier: str) -> bool:
    """Remove a provider; tell whether it was there."""
    return bool(await transaction.rows(_SQL["delete"], identifier))


# --- Sign-in -----------------------------------------------------------------------------------------------------


async def find(accounts: Accounts, transaction: Transaction, name: str) -> Found | None:
    """Find a provider by its name, enabled or not. Raises: AuthError (500) if its secret cannot be opened."""
    row = await find_row(transaction, name.strip().lower())
    if row is None:
        return None
    try:
        secret = accounts.vault.open(row.client_secret, row.id)
    except CannotOpen as error:
        raise AuthError(
            Code.UNEXPECTED_FAILURE, f"The secret of {row.identifier} cannot be opened: {error}"
        ) from None
    client = Client(
        name=row.identifier,
        outgoing=accounts.outgoing,
        documents=accounts.documents,
        clock=accounts.clock,
        ids=(row.client_id, *row.acceptable_client_ids),
        secret=Secret(secret),
        is_email_optional=row.email_optional,
        skips_nonce=row.skip_nonce_check,
        only_public=not accounts.settings.custom_oauth.allow_private_hosts,
    )
    return Found(row, client)


def provider(found: Found) -> OAuth2:
    """Make the provider of a row."""
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


def signers(found: Found) -> tuple[Signer, ...]:
    """Give who signs ID tokens; its document is the one that was kept, as long as it is fresh."""
    row, now = found.row, found.client.clock()
    kept_at = row.discovery_cached_at
    is_fresh = kept_at is not None and now - kept_at.timestamp() < LASTS_S
    return (
        Signer(
            row.issuer or "",
            discovery=row.discovery_url or "",
            given=row.cached_discovery if is_fresh else None,
            check=refuse_bad_discovery,
        ),
    )


def reader(row: Row) -> Callable[[Document], ProviderUser]:
    """Give what reads claims: the mapping renames them, the allowlist lets others of them in."""

    def read(claims: Document) -> ProviderUser:
        return read_custom(claims, row.attribute_mapping, row.custom_claims_allowlist)

    return read


def read_custom(claims: Document, mapping: Mapping[str, str], allowed: list[str]) -> ProviderUser:
    """Read claims. A mapping names for a claim of ours the one of theirs, a dotted path where that lies deeper."""
    given = {**claims, **{ours: _named(claims, theirs) for ours, theirs in mapping.items()}}
    emails = one_email(text(given, "email"), is_verified=flag(given, "email_verified"))
    shown = standard_claims(given)
    renamed = {ours: given[ours] for ours in mapping if ours not in ("sub", "email")}
    custom = {name: claims[name] for name in allowed if name in claims}
    return person(text(given, "sub"), emails, known(**{**shown, **renamed, "custom_claims": custom}))


def _named(claims: Document, theirs: str) -> object:
    return claims[theirs] if theirs in claims else member(claims, *theirs.split("."))


def _oauth_user(row: Row) -> Reader:
    async def user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
        del fields
        return reader(row)(await provider.client.profile(provider.endpoints.user, grant.access_token))

    return user


def _openid_user(row: Row) -> Reader:
    async def user(provider: OAuth2, grant: Grant, fields: Fields) -> ProviderUser:
        """Read the ID token, and the user-info document for what it leaves out: both must be of the same user."""
        del fields
        claims = dict(await provider.id_claims(grant.id_token, grant.access_token))
        address = (await provider.resolved()).user
        if address and not text(claims, "email"):
            more = await provider.client.profile(address, grant.access_token)
            if text(more, "sub") != text(claims, "sub"):
                raise ProviderFailed(
                    "Error getting user profile from external provider: it tells of another user"
                )
            claims = {**more, **claims}
        return reader(row)(claims)

    return user
