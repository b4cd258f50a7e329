"""Administration of the identity providers of single sign-on. Source: docs/reference/auth.md, sections 13 and 16.8."""

import re
from dataclasses import replace
from uuid import UUID

import msgspec

from schemas.http import Response
from workers.auth.federation.saml import metadata_refresh, providers
from workers.auth.federation.saml.attributes import AttributeMapping
from workers.auth.federation.saml.metadata_refresh import MetadataDocument
from workers.auth.federation.saml.providers import SsoProvider, SsoProviderChange
from workers.auth.federation.saml.service_provider import EMAIL_FORM, PERSISTENT, TRANSIENT, UNSPECIFIED
from workers.auth.http.caller import require_admin
from workers.auth.http.context import EndpointContext
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest, json_response
from workers.auth.model.times import iso
from workers.auth.model.user_json import JsonObject
from workers.database.transactions.interactive import Transaction

_FORMS = ("", UNSPECIFIED, EMAIL_FORM, PERSISTENT, TRANSIENT)
_BY_RESOURCE_ID = "resource_"
_RESOURCE_ID = re.compile(r"[^\x00-\x1f\x7f]{1,255}")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_MOST_DOMAINS = 1000


class SsoProviderBody(msgspec.Struct):
    """The body that creates or changes a provider."""

    type: str | None = None
    metadata_url: str = ""
    metadata_xml: str = ""
    domains: list[str] | None = None
    attribute_mapping: AttributeMapping | None = None
    name_id_format: str | None = None
    resource_id: str | None = None
    disabled: bool | None = None


async def listing(context: EndpointContext, request: AuthRequest) -> Response:
    """Return the providers, without their metadata, which are long. Raises: AuthError."""
    await require_admin(context, request)
    async with context.transaction() as transaction:
        all_providers = await providers.list_all(transaction)
    return json_response({"items": [_shown(provider) for provider in all_providers]})


async def create(context: EndpointContext, request: AuthRequest) -> Response:
    """Create a provider. Raises: AuthError."""
    await require_admin(context, request)
    body = request.read(SsoProviderBody)
    if body.type != "saml":
        raise AuthError(ErrorCode.VALIDATION_FAILED, "Only 'saml' supported for SSO provider type")
    change = _change(body)
    metadata = await _metadata_of(context, body)
    if metadata is None:
        raise AuthError(ErrorCode.VALIDATION_FAILED, "Either metadata_xml or metadata_url must be set")
    entity_id, change = metadata.idp.entity_id, _with(change, metadata, body)
    async with context.transaction() as transaction:
        id = await providers.create(transaction, entity_id, change)
        provider = await _find(transaction, str(id))
    return json_response(_shown(provider), 201)


async def show(context: EndpointContext, request: AuthRequest) -> Response:
    """Return a provider. Raises: AuthError."""
    await require_admin(context, request)
    async with context.transaction() as transaction:
        provider = await _find(transaction, request.parameters["id"])
    return json_response(_shown(provider))


async def update(context: EndpointContext, request: AuthRequest) -> Response:
    """Change the members of a provider that the body has. Raises: AuthError."""
    await require_admin(context, request)
    body = request.read(SsoProviderBody)
    if body.type not in (None, "saml"):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "Only 'saml' supported for SSO provider type")
    async with context.transaction() as transaction:  # before its metadata are fetched
        await _find(transaction, request.parameters["id"])
    change = _change(body)
    metadata = await _metadata_of(context, body)
    async with context.transaction() as transaction:
        provider = await _find(transaction, request.parameters["id"])
        await providers.lock(transaction, provider.id)
        expected = provider.saml.entity_id if provider.saml else ""
        if metadata is not None:
            if metadata.idp.entity_id != expected:
                raise rejections.SAML_ENTITY_CHANGED(expected=expected, got=metadata.idp.entity_id)
            change = _with(change, metadata, body)
        await providers.change(transaction, provider.id, change)
        changed = await _find(transaction, str(provider.id))
    return json_response(_shown(changed))


async def delete(context: EndpointContext, request: AuthRequest) -> Response:
    """Delete a provider, and return it. Raises: AuthError."""
    await require_admin(context, request)
    async with context.transaction() as transaction:
        provider = await _find(transaction, request.parameters["id"])
        await providers.delete(transaction, provider.id)
    return json_response(_shown(provider))


async def _find(transaction: Transaction, id: str) -> SsoProvider:
    """Find a provider by its id, or by `resource_` and its resource id. Raises: AuthError (404)."""
    if id.startswith(_BY_RESOURCE_ID):
        provider = await providers.find_by_resource_id(transaction, id.removeprefix(_BY_RESOURCE_ID))
    else:
        try:
            provider = await providers.find(transaction, UUID(id))
        except ValueError:
            provider = None
    if provider is None:
        raise rejections.SSO_PROVIDER_NOT_FOUND()
    return provider


async def _metadata_of(context: EndpointContext, body: SsoProviderBody) -> MetadataDocument | None:
    """Return the metadata of a body, fetched if it has their URL. Raises: AuthError (400)."""
    if body.metadata_url and body.metadata_xml:
        raise AuthError(
            ErrorCode.VALIDATION_FAILED, "Only one of metadata_xml or metadata_url needs to be set"
        )
    if body.metadata_url:
        return await metadata_refresh.fetch(context.outgoing, body.metadata_url)
    return metadata_refresh.read_document(body.metadata_xml) if body.metadata_xml else None


def _with(change: SsoProviderChange, metadata: MetadataDocument, body: SsoProviderBody) -> SsoProviderChange:
    return replace(change, metadata_xml=metadata.text, metadata_url=body.metadata_url)


def _change(body: SsoProviderBody) -> SsoProviderChange:
    """Read the changes of a body, without the metadata. Raises: AuthError (400)."""
    if body.name_id_format is not None and body.name_id_format not in _FORMS:
        listed = ", ".join(form for form in _FORMS if form)
        raise AuthError(ErrorCode.VALIDATION_FAILED, f"name_id_format must be unspecified or one of {listed}")
    if body.resource_id and not _RESOURCE_ID.fullmatch(body.resource_id):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "resource_id must have 1 to 255 printable characters")
    mapping = body.attribute_mapping
    if mapping is not None and b"\\u0000" in msgspec.json.encode(mapping):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "attribute_mapping cannot hold the character U+0000")
    return SsoProviderChange(
        resource_id=body.resource_id or None,
        disabled=body.disabled,
        attribute_mapping=mapping,
        name_id_format=body.name_id_format,
        domains=None if body.domains is None else _domains(body.domains),
    )


def _domains(given: list[str]) -> list[str]:
    """Return the domains in lower case, without duplicates. Raises: AuthError (400)."""
    domains = list(dict.fromkeys(domain.strip().lower() for domain in given))
    if len(domains) > _MOST_DOMAINS or not all(_DOMAIN.fullmatch(domain) for domain in domains):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "domains must be names of hosts, as example.com")
    return domains


def _shown(provider: SsoProvider) -> JsonObject:
    """Return the JSON of a provider, without members that are not set."""
    saml, shown_saml = provider.saml, {}
    if saml is not None:
        mapping = saml.attribute_mapping
        parts = {
            "entity_id": saml.entity_id,
            "metadata_xml": saml.metadata_xml,
            "metadata_url": saml.metadata_url,
            "attribute_mapping": None if mapping is None else msgspec.to_builtins(mapping),
            "name_id_format": saml.name_id_format,
        }
        shown_saml = {name: value for name, value in parts.items() if value}
    members: JsonObject = {
        "id": str(provider.id),
        "disabled": provider.disabled,
        "saml": shown_saml,
        "domains": [{"id": str(domain.id), "domain": domain.domain} for domain in provider.domains],
    }
    if provider.resource_id is not None:
        members["resource_id"] = provider.resource_id
    for name, moment in (("created_at", provider.created_at), ("updated_at", provider.updated_at)):
        if moment is not None:
            members[name] = iso(moment)
    return members
