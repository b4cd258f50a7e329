"""Administration of custom providers: /admin/custom-providers. Source: docs/reference/auth.md, sections 16.8 and 26.3.

A provider is checked before the transaction that stores it, because this takes network requests: its URLs, and for OpenID
Connect the discovery document. If the row has changed since then, the request fails with 409. The client secret is stored
sealed, and never returned.
"""

from typing import Any
from uuid import uuid4

import msgspec
from msgspec import UNSET, UnsetType

from schemas.http import Response
from schemas.keys.secret_record import SecretRecord
from workers.auth.federation.providers import custom, custom_rules
from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.custom import CustomProviderRow
from workers.auth.federation.providers.oidc import WELL_KNOWN
from workers.auth.federation.social.protocol import ProviderError
from workers.auth.http.caller import require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.times import iso
from workers.auth.model.user_json import JsonObject
from workers.auth.model.vault import SealPurpose
from workers.database.transactions.interactive import Transaction

_ADDRESSES = {
    "oidc": ("issuer", "discovery_url"),
    "oauth2": ("authorization_url", "token_url", "userinfo_url", "jwks_uri"),
}
_NEEDED = {"oidc": ("issuer",), "oauth2": ("authorization_url", "token_url", "userinfo_url")}
_TYPE_MEMBERS = {"oidc": ("issuer", "discovery_url", "skip_nonce_check"), "oauth2": _ADDRESSES["oauth2"]}
_COMMON_MEMBERS = (
    "provider_type", "identifier", "name", "client_id", "acceptable_client_ids", "scopes", "pkce_enabled",
    "attribute_mapping", "custom_claims_allowlist", "authorization_params", "enabled", "email_optional",
)  # fmt: skip


class CustomProviderBody(SecretRecord, msgspec.Struct):
    """The body that creates or changes a provider; absent members keep their value."""

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


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the providers, of one type if the query has `type`. Raises: AuthError."""
    await _require_admin(context, request)
    kind = request.query("type")
    if kind and kind not in custom_rules.TYPES:
        raise custom_rules.validation_error("type must be oauth2 or oidc")
    async with context.transaction() as transaction:
        rows = await custom.list_rows(transaction, kind)
    return json_response({"providers": [provider_object(row) for row in rows]})


async def create(context: EndpointContext, request: AuthRequest) -> Response:
    """Add a provider. Raises: AuthError."""
    await _require_admin(context, request)
    fields = {**_read_fields(request), "id": uuid4()}
    for name in ("provider_type", "identifier", "name", "client_id", "client_secret"):
        if not fields.get(name):
            raise custom_rules.validation_error(f"{name} is required")
    fields["client_secret"] = context.vault.seal(
        str(fields["client_secret"]), fields["id"], SealPurpose.PROVIDER_SECRET
    )
    row = await _checked(context, msgspec.convert(fields, CustomProviderRow), is_moved=True)
    async with context.transaction() as transaction:
        await custom.add(transaction, row, most=int(context.settings.custom_oauth.max_providers))
        added = await _named(transaction, row.identifier)
    return json_response(provider_object(added), 201)


async def show(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a provider. Raises: AuthError."""
    await _require_admin(context, request)
    async with context.transaction() as transaction:
        return json_response(provider_object(await _named(transaction, request.parameters["id"])))


async def update(context: EndpointContext, request: AuthRequest) -> Response:
    """Change a provider, except for its type and its name. Raises: AuthError."""
    await _require_admin(context, request)
    async with context.transaction() as transaction:
        old = await _named(transaction, request.parameters["id"])
    changes = _read_fields(request)
    for name in ("provider_type", "identifier"):
        if changes.pop(name, getattr(old, name)) != getattr(old, name):
            raise custom_rules.validation_error(f"{name} cannot be changed")
    for name in ("name", "client_id", "client_secret"):
        if name in changes and not changes[name]:
            raise custom_rules.validation_error(f"{name} cannot be empty")
    if "client_secret" in changes:
        changes["client_secret"] = context.vault.seal(
            str(changes["client_secret"]), old.id, SealPurpose.PROVIDER_SECRET
        )
    is_moved = any(changes.get(name, getattr(old, name)) != getattr(old, name) for name in _ADDRESSES["oidc"])
    row = await _checked(context, msgspec.structs.replace(old, **changes), is_moved=is_moved)
    async with context.transaction() as transaction:
        await custom.lock(transaction, old.identifier)
        if await _named(transaction, old.identifier) != old:
            raise AuthError(ErrorCode.CONFLICT, "Somebody else has changed this provider meanwhile")
        await custom.change(transaction, row)
        changed = await _named(transaction, old.identifier)
    return json_response(provider_object(changed))


async def delete(context: EndpointContext, request: AuthRequest) -> Response:
    """Remove a provider; the accounts of its users stay. Raises: AuthError."""
    await _require_admin(context, request)
    async with context.transaction() as transaction:
        if not await custom.remove(transaction, request.parameters["id"]):
            raise rejections.NO_CUSTOM_PROVIDER()
    return Response(204, [("cache-control", "no-store")])


def provider_object(row: CustomProviderRow) -> JsonObject:
    """Return the JSON of a provider: the members of its type, without the secret."""
    names = (*_COMMON_MEMBERS, *_TYPE_MEMBERS[row.provider_type])
    values = {name: getattr(row, name) for name in names}
    members: JsonObject = {
        "id": str(row.id),
        **{name: value for name, value in values.items() if value is not None},
    }
    if row.provider_type == "oidc":
        members["discovery_document"] = row.cached_discovery
    for name, moment in (("created_at", row.created_at), ("updated_at", row.updated_at)):
        members[name] = None if moment is None else iso(moment)
    return members


async def _require_admin(context: EndpointContext, request: AuthRequest) -> None:
    await require_admin(context, request)
    if not context.settings.custom_oauth.enabled:
        raise rejections.CUSTOM_PROVIDERS_DISABLED()


async def _named(transaction: Transaction, identifier: str) -> CustomProviderRow:
    row = await custom.find_row(transaction, identifier)
    if row is None:
        raise rejections.NO_CUSTOM_PROVIDER()
    return row


def _read_fields(request: AuthRequest) -> dict[str, Any]:
    """Return what a body says, checked field by field; an empty address is none."""
    body = request.read(CustomProviderBody)
    fields = {
        name: value
        for name in CustomProviderBody.__struct_fields__
        if (value := getattr(body, name)) is not UNSET
    }
    for name in ("name", "client_id", "client_secret"):
        custom_rules.check_texts(name, [str(fields[name])] if fields.get(name) else [])
    for name in ("acceptable_client_ids", "custom_claims_allowlist", "scopes"):
        custom_rules.check_texts(name, fields.get(name, []))
    custom_rules.check_scopes(fields.get("scopes", []))
    custom_rules.check_parameters(fields.get("authorization_params", {}))
    if "attribute_mapping" in fields:
        fields["attribute_mapping"] = custom_rules.check_mapping(fields["attribute_mapping"])
    addresses = {
        name: fields[name] or None for names in _ADDRESSES.values() for name in names if name in fields
    }
    return {**fields, **addresses}


async def _checked(context: EndpointContext, row: CustomProviderRow, *, is_moved: bool) -> CustomProviderRow:
    """Check a provider, and return it with the discovery document if its URLs are new. Raises: AuthError."""
    kind = row.provider_type
    if kind not in custom_rules.TYPES:
        raise custom_rules.validation_error("provider_type must be oauth2 or oidc")
    custom_rules.check_identifier(row.identifier)
    for name in _NEEDED[kind]:
        if not getattr(row, name):
            raise custom_rules.validation_error(f"{name} is required for providers of type {kind}")
    foreign = [
        name
        for other_kind in custom_rules.TYPES
        if other_kind != kind
        for name in _ADDRESSES[other_kind]
        if getattr(row, name)
    ]
    if foreign:
        raise custom_rules.validation_error(f"{foreign[0]} is not for providers of type {kind}")
    for name in _ADDRESSES[kind]:
        if address := getattr(row, name):
            custom_rules.check_https(name, address)
            if not context.settings.custom_oauth.allow_private_hosts:
                await custom_rules.check_public(name, address)
    if kind != "oidc":
        return row
    row = msgspec.structs.replace(row, scopes=list(dict.fromkeys(("openid", *row.scopes))))
    if not is_moved:
        return row
    document = await _discovery(context, row)
    return msgspec.structs.replace(row, cached_discovery=document, discovery_cached_at=context.now())


async def _discovery(context: EndpointContext, row: CustomProviderRow) -> dict[str, object]:
    """Fetch and check the discovery document of an issuer. Raises: AuthError."""
    issuer, is_guarded = row.issuer or "", not context.settings.custom_oauth.allow_private_hosts
    client = ProviderClient(
        row.identifier, context.outgoing, context.documents, context.clock, only_public=is_guarded
    )
    address = row.discovery_url or issuer.rstrip("/") + WELL_KNOWN
    try:
        document = custom_rules.select_discovery(await client.published(address, lasts_s=0))
        custom_rules.refuse_bad_discovery(document, issuer)
    except ProviderError as error:
        raise custom_rules.validation_error(error.description) from None
    if is_guarded:
        for name in custom_rules.PUBLISHED:
            if published := document.get(name):
                await custom_rules.check_public(name, str(published))
    return document
