"""Identity providers in the hands of trusted servers. Source: reference page "auth", sections 13 and 16.8."""

import re
from dataclasses import replace
from uuid import UUID

import msgspec

from schemas.http import Response
from workers.auth.accounts.users.shown import Shown
from workers.auth.context import Accounts
from workers.auth.federation.saml import freshness, providers
from workers.auth.federation.saml.attributes import AttributeMapping
from workers.auth.federation.saml.freshness import Metadata
from workers.auth.federation.saml.providers import Change, Provider
from workers.auth.federation.saml.service_provider import EMAIL_FORM, PERSISTENT, TRANSIENT, UNSPECIFIED
from workers.auth.http.endpoints.present import refuse_unless_admin
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked, answer
from workers.auth.model.times import iso
from workers.database.interactive import Transaction

_FORMS = ("", UNSPECIFIED, EMAIL_FORM, PERSISTENT, TRANSIENT)
_BY_RESOURCE_ID = "resource_"
_RESOURCE_ID = re.compile(r"[^\x00-\x1f\x7f]{1,255}")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_MOST_DOMAINS = 1000


class Body(msgspec.Struct):
    """A provider as an administrator makes or changes it."""

    type: str | None = None
    metadata_url: str = ""
    metadata_xml: str = ""
    domains: list[str] | None = None
    attribute_mapping: AttributeMapping | None = None
    name_id_format: str | None = None
    resource_id: str | None = None
    disabled: bool | None = None


async def listing(accounts: Accounts, asked: Asked) -> Response:
    """List the providers, without their metadata, which are long. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    async with accounts.transaction() as transaction:
        found = await providers.every(transaction)
    return answer({"items": [_shown(each) for each in found]})


async def create(accounts: Accounts, asked: Asked) -> Response:
    """Make a provider. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    body = asked.read(Body)
    if body.type != "saml":
        raise AuthError(Code.VALIDATION_FAILED, "Only 'saml' supported for SSO provider type")
    wanted = _change(body)
    metadata = await _given(accounts, body)
    if metadata is None:
        raise AuthError(Code.VALIDATION_FAILED, "Either metadata_xml or metadata_url must be set")
    entity_id, wanted = metadata.idp.entity_id, _with(wanted, metadata, body)
    async with accounts.transaction() as transaction:
        id = await providers.make(transaction, entity_id, wanted)
        made = await _found(transaction, str(id))
    return answer(_shown(made), 201)


async def show(accounts: Accounts, asked: Asked) -> Response:
    """Give a provider. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    async with accounts.transaction() as transaction:
        found = await _found(transaction, asked.parameters["id"])
    return answer(_shown(found))


async def update(accounts: Accounts, asked: Asked) -> Response:
    """Change a provider: what is given replaces, the rest stays. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    body = asked.read(Body)
    if body.type not in (None, "saml"):
        raise AuthError(Code.VALIDATION_FAILED, "Only 'saml' supported for SSO provider type")
    async with accounts.transaction() as transaction:  # before anything is fetched for it
        await _found(transaction, asked.parameters["id"])
    wanted = _change(body)
    metadata = await _given(accounts, body)
    async with accounts.transaction() as transaction:
        found = await _found(transaction, asked.parameters["id"])
        await providers.lock(transaction, found.id)
        expected = found.saml.entity_id if found.saml else ""
        if metadata is not None:
            if metadata.idp.entity_id != expected:
                raise rejections.SAML_ENTITY_CHANGED(expected=expected, got=metadata.idp.entity_id)
            wanted = _with(wanted, metadata, body)
        await providers.change(transaction, found.id, wanted)
        changed = await _found(transaction, str(found.id))
    return answer(_shown(changed))


async def delete(accounts: Accounts, asked: Asked) -> Response:
    """Delete a provider, and give it as it was. Raises: AuthError."""
    await refuse_unless_admin(accounts, asked)
    async with accounts.transaction() as transaction:
        found = await _found(transaction, asked.parameters["id"])
        await providers.delete(transaction, found.id)
    return answer(_shown(found))


async def _found(transaction: Transaction, id: str) -> Provider:
    """Find a provider by its id, or by `resource_` and the name that it was given. Raises: AuthError (404)."""
    if id.startswith(_BY_RESOURCE_ID):
        found = await providers.find_by_resource_id(transaction, id.removeprefix(_BY_RESOURCE_ID))
    else:
        try:
            found = await providers.find(transaction, UUID(id))
        except ValueError:
            found = None
    if found is None:
        raise rejections.SSO_PROVIDER_NOT_FOUND()
    return found


async def _given(accounts: Accounts, body: Body) -> Metadata | None:
    """Give the metadata of a body, fetched if it names their address. Raises: AuthError (400)."""
    if body.metadata_url and body.metadata_xml:
        raise AuthError(Code.VALIDATION_FAILED, "Only one of metadata_xml or metadata_url needs to be set")
    if body.metadata_url:
        return await freshness.fetch(accounts.outgoing, body.metadata_url)
    return freshness.read(body.metadata_xml) if body.metadata_xml else None


def _with(wanted: Change, metadata: Metadata, body: Body) -> Change:
    return replace(wanted, metadata_xml=metadata.text, metadata_url=body.metadata_url)


def _change(body: Body) -> Change:
    """Read what an administrator wants, but for the metadata. Raises: AuthError (400)."""
    if body.name_id_format is not None and body.name_id_format not in _FORMS:
        listed = ", ".join(each for each in _FORMS if each)
        raise AuthError(Code.VALIDATION_FAILED, f"name_id_format must be unspecified or one of {listed}")
    if body.resource_id and not _RESOURCE_ID.fullmatch(body.resource_id):
        raise AuthError(Code.VALIDATION_FAILED, "resource_id must have 1 to 255 printable characters")
    mapping = body.attribute_mapping
    if mapping is not None and b"\\u0000" in msgspec.json.encode(mapping):
        raise AuthError(Code.VALIDATION_FAILED, "attribute_mapping cannot hold the character U+0000")
    return Change(
        resource_id=body.resource_id or None,
        disabled=body.disabled,
        attribute_mapping=mapping,
        name_id_format=body.name_id_format,
        domains=None if body.domains is None else _domains(body.domains),
    )


def _domains(given: list[str]) -> list[str]:
    """Read domains, each once. Raises: AuthError (400)."""
    found = list(dict.fromkeys(each.strip().lower() for each in given))
    if len(found) > _MOST_DOMAINS or not all(_DOMAIN.fullmatch(each) for each in found):
        raise AuthError(Code.VALIDATION_FAILED, "domains must be names of hosts, as example.com")
    return found


def _shown(provider: Provider) -> Shown:
    """Give the object of a provider; what is not set is left out."""
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
    shown: Shown = {
        "id": str(provider.id),
        "disabled": provider.disabled,
        "saml": shown_saml,
        "domains": [{"id": str(each.id), "domain": each.domain} for each in provider.domains],
    }
    if provider.resource_id is not None:
        shown["resource_id"] = provider.resource_id
    for name, moment in (("created_at", provider.created_at), ("updated_at", provider.updated_at)):
        if moment is not None:
            shown[name] = iso(moment)
    return shown
