"""Providers that an administrator adds: /admin/custom-providers. Source: reference page "auth", sections 16.8 and 26.3.

What is saved is checked first, without a transaction: its addresses, and for OpenID Connect the description that the
issuer publishes. Nobody else may have changed the provider meanwhile. The client secret is taken, sealed, never shown.
"""

from typing import Any
from uuid import uuid4

import msgspec
from msgspec import UNSET, UnsetType

from schemas.http import Response
from workers.auth.accounts.users.shown import Shown
from workers.auth.context import Accounts
from workers.auth.federation.providers import custom, custom_rules
from workers.auth.federation.providers.client import Client
from workers.auth.federation.providers.custom import Row
from workers.auth.federation.providers.oidc import WELL_KNOWN
from workers.auth.federation.social.protocol import ProviderFailed
from workers.auth.http.endpoints.present import refuse_unless_admin
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.times import iso
from workers.database.interactive import Transaction

_ADDRESSES = {
    "oidc": ("issuer", "discovery_url"),
    "oauth2": ("authorization_url", "token_url", "userinfo_url", "jwks_uri"),
}
_NEEDED = {"oidc": ("issuer",), "oauth2": ("authorization_url", "token_url", "userinfo_url")}
_OWN = {"oidc": ("issuer", "discovery_url", "skip_nonce_check"), "oauth2": _ADDRESSES["oauth2"]}
_ALWAYS = (
    "provider_type", "identifier", "name", "client_id", "acceptable_client_ids", "scopes", "pkce_enabled",
    "attribute_mapping", "custom_claims_allowlist", "authorization_params", "enabled", "email_optional",
)  # fmt: skip


class Body(msgspec.Struct):
    """A provider as an administrator gives it; what is not given stays as it is."""

    provider_type: str | UnsetType = UNSET
    identifier: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET
    acceptable_client_ids: list[str] | UnsetType = UNSET
    scopes: list[str] | UnsetType = UNSET
    pkce_enabled: bool | UnsetType = UNSET
    attribute_mapping: dict[str, object] | UnsetType = UNSET
    custom_claims_allowlist: list[str] | UnsetType = UNSET
    authorization_params: dict[str, str] | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    email_optional: bool | UnsetType = UNSET
    issuer: str | UnsetType = UNSET
    discovery_url: str | UnsetType = UNSET
    skip_nonce_check: bool | UnsetType = UNSET
    authorization_url: str | UnsetType = UNSET
    token_url: str | UnsetType = UNSET
    userinfo_url: str | UnsetType = UNSET
    jwks_uri: str | UnsetType = UNSET

    def __repr__(self) -> str:
        return "Body(***)"


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List the providers, of one type if `type` names it. Raises: AuthError."""
    await _refuse(accounts, asked)
    kind = asked.query("type")
    if kind and kind not in custom_rules.TYPES:
        raise custom_rules.refused("type must be oauth2 or oidc")
    async with accounts.transaction() as transaction:
        found = await custom.list_rows(transaction, kind)
    return answer({"providers": [shown(each) for each in found]})


async def create(accounts: Accounts, asked: Asked) -> Response:
    """Add a provider. Raises: AuthError."""
    await _refuse(accounts, asked)
    given = {**_given(asked), "id": uuid4()}
    for name in ("provider_type", "identifier", "name", "client_id", "client_secret"):
        if not given.get(name):
            raise custom_rules.refused(f"{name} is required")
    given["client_secret"] = accounts.vault.seal(str(given["client_secret"]), given["id"])
    row = await _checked(accounts, msgspec.convert(given, Row), is_moved=True)
    async with accounts.transaction() as transaction:
        await custom.add(transaction, row, most=int(accounts.settings.custom_oauth.max_providers))
        made = await _named(transaction, row.identifier)
    return answer(shown(made), 201)


async def show(accounts: Accounts, asked: Asked) -> Response:
    """Give a provider. Raises: AuthError."""
    await _refuse(accounts, asked)
    async with accounts.transaction() as transaction:
        return answer(shown(await _named(transaction, asked.parameters["id"])))


async def update(accounts: Accounts, asked: Asked) -> Response:
    """Change a provider; its type and its name stay. Raises: AuthError."""
    await _refuse(accounts, asked)
    async with accounts.transaction() as transaction:
        old = await _named(transaction, asked.parameters["id"])
    given = _given(asked)
    for name in ("provider_type", "identifier"):
        if given.pop(name, getattr(old, name)) != getattr(old, name):
            raise custom_rules.refused(f"{name} cannot be changed")
    for name in ("name", "client_id", "client_secret"):
        if name in given and not given[name]:
            raise custom_rules.refused(f"{name} cannot be empty")
    if "client_secret" in given:
        given["client_secret"] = accounts.vault.seal(str(given["client_secret"]), old.id)
    is_moved = any(given.get(name, getattr(old, name)) != getattr(old, name) for name in _ADDRESSES["oidc"])
    row = await _checked(accounts, msgspec.structs.replace(old, **given), is_moved=is_moved)
    async with accounts.transaction() as transaction:
        await custom.lock(transaction, old.identifier)
        if await _named(transaction, old.identifier) != old:
            raise AuthError(Code.CONFLICT, "Somebody else has changed this provider meanwhile")
        await custom.change(transaction, row)
        changed = await _named(transaction, old.identifier)
    return answer(shown(changed))


async def delete(accounts: Accounts, asked: Asked) -> Response:
    """Remove a provider; who has signed in by it keeps the account. Raises: AuthError."""
    await _refuse(accounts, asked)
    async with accounts.transaction() as transaction:
        if not await custom.remove(transaction, asked.parameters["id"]):
            raise rejections.NO_CUSTOM_PROVIDER()
    return Response(204, [("cache-control", "no-store")])


def shown(row: Row) -> Shown:
    """Give the object of a provider: what its type has, without the secret."""
    names = (*_ALWAYS, *_OWN[row.provider_type])
    values = {name: getattr(row, name) for name in names}
    told: Shown = {"id": str(row.id), **{name: each for name, each in values.items() if each is not None}}
    if row.provider_type == "oidc":
        told["discovery_document"] = row.cached_discovery
    for name, moment in (("created_at", row.created_at), ("updated_at", row.updated_at)):
        told[name] = None if moment is None else iso(moment)
    return told


async def _refuse(accounts: Accounts, asked: Asked) -> None:
    await refuse_unless_admin(accounts, asked)
    if not accounts.settings.custom_oauth.enabled:
        raise rejections.CUSTOM_PROVIDERS_DISABLED()


async def _named(transaction: Transaction, identifier: str) -> Row:
    found = await custom.find_row(transaction, identifier)
    if found is None:
        raise rejections.NO_CUSTOM_PROVIDER()
    return found


def _given(asked: Asked) -> dict[str, Any]:
    """Give what a body says, checked field by field; an empty address is none."""
    body = asked.read(Body)
    given = {name: value for name in Body.__struct_fields__ if (value := getattr(body, name)) is not UNSET}
    for name in ("name", "client_id", "client_secret"):
        custom_rules.check_texts(name, [str(given[name])] if given.get(name) else [])
    for name in ("acceptable_client_ids", "custom_claims_allowlist", "scopes"):
        custom_rules.check_texts(name, given.get(name, []))
    custom_rules.check_scopes(given.get("scopes", []))
    custom_rules.check_parameters(given.get("authorization_params", {}))
    if "attribute_mapping" in given:
        given["attribute_mapping"] = custom_rules.check_mapping(given["attribute_mapping"])
    addresses = {
        name: given[name] or None for names in _ADDRESSES.values() for name in names if name in given
    }
    return {**given, **addresses}


async def _checked(accounts: Accounts, row: Row, *, is_moved: bool) -> Row:
    """Give a provider as it may be saved, with what its issuer publishes if that must be read. Raises: AuthError."""
    kind = row.provider_type
    if kind not in custom_rules.TYPES:
        raise custom_rules.refused("provider_type must be oauth2 or oidc")
    custom_rules.check_identifier(row.identifier)
    for name in _NEEDED[kind]:
        if not getattr(row, name):
            raise custom_rules.refused(f"{name} is required for providers of type {kind}")
    foreign = [
        name for each in custom_rules.TYPES if each != kind for name in _ADDRESSES[each] if getattr(row, name)
    ]
    if foreign:
        raise custom_rules.refused(f"{foreign[0]} is not for providers of type {kind}")
    for name in _ADDRESSES[kind]:
        if address := getattr(row, name):
            custom_rules.check_https(name, address)
            if not accounts.settings.custom_oauth.allow_private_hosts:
                await custom_rules.check_public(name, address)
    if kind != "oidc":
        return row
    row = msgspec.structs.replace(row, scopes=list(dict.fromkeys(("openid", *row.scopes))))
    if not is_moved:
        return row
    document = await _discovery(accounts, row)
    return msgspec.structs.replace(row, cached_discovery=document, discovery_cached_at=accounts.now())


async def _discovery(accounts: Accounts, row: Row) -> dict[str, object]:
    """Read what an issuer publishes of itself. Raises: AuthError."""
    issuer, is_guarded = row.issuer or "", not accounts.settings.custom_oauth.allow_private_hosts
    client = Client(
        row.identifier, accounts.outgoing, accounts.documents, accounts.clock, only_public=is_guarded
    )
    address = row.discovery_url or issuer.rstrip("/") + WELL_KNOWN
    try:
        document = custom_rules.kept_discovery(await client.published(address, lasts_s=0))
        custom_rules.refuse_bad_discovery(document, issuer)
    except ProviderFailed as error:
        raise custom_rules.refused(error.description) from None
    if is_guarded:
        for name in custom_rules.PUBLISHED:
            if published := document.get(name):
                await custom_rules.check_public(name, str(published))
    return document
