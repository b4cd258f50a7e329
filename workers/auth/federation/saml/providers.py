"""Identity providers of single sign-on in the database, visits to them, and assertions that were used.

Each function runs in the caller's transaction. Source: reference page "auth", sections 13, 16.8 and 24.3.
Raises, all of them: DatabaseError, Disconnected.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct

from workers.auth.federation.saml.attributes import AttributeMapping
from workers.auth.model import rejections
from workers.database.errors import DatabaseError
from workers.database.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.saml", "providers.sql")
_UNIQUE = "23505"


class Domain(Struct, frozen=True):
    """A domain whose users an identity provider speaks for."""

    id: UUID
    domain: str
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Saml(Struct, frozen=True):
    """What is known of an identity provider that speaks SAML. `updated_at` is when its metadata were read, or changed."""

    entity_id: str
    metadata_xml: str
    metadata_url: str | None = None
    attribute_mapping: AttributeMapping | None = None
    name_id_format: str | None = None
    updated_at: datetime | None = None
    metadata_asked_at: datetime | None = None


class Provider(Struct, frozen=True):
    """An identity provider of an organization."""

    id: UUID
    resource_id: str | None = None
    disabled: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None
    saml: Saml | None = None
    domains: tuple[Domain, ...] = ()

    @property
    def name(self) -> str:
        """Its name among the providers of identities."""
        return f"sso:{self.id}"


class Visit(Struct, frozen=True):
    """A browser that was sent to an identity provider: what it was asked, and where its result goes."""

    id: UUID
    sso_provider_id: UUID
    request_id: str
    created_at: datetime
    redirect_to: str | None = None
    flow_state_id: UUID | None = None
    browser_hash: str | None = None
    """Whose browser it is (`social/browsers.py`)."""

    def is_older(self, than: timedelta, now: datetime) -> bool:
        """Tell whether the browser was away for too long."""
        return now >= self.created_at + than


@dataclass(frozen=True, slots=True)
class Change:
    """What changes of a provider; None keeps what is there. `metadata_url` goes with `metadata_xml`."""

    resource_id: str | None = None
    disabled: bool | None = None
    metadata_xml: str | None = None
    metadata_url: str = ""
    attribute_mapping: AttributeMapping | None = None
    name_id_format: str | None = None
    domains: Sequence[str] | None = None


async def find(transaction: Transaction, id: UUID) -> Provider | None:
    """Find a provider."""
    return await transaction.one(_SQL["by_id"], Provider, str(id))


async def find_by_resource_id(transaction: Transaction, resource_id: str) -> Provider | None:
    """Find a provider by the name that an administrator gave it."""
    return await _found(transaction, "by_resource_id", resource_id)


async def find_by_domain(transaction: Transaction, domain: str) -> Provider | None:
    """Find the provider of a domain."""
    return await _found(transaction, "by_domain", domain)


async def domain_owner(transaction: Transaction, domain: str) -> UUID | None:
    """Return the id of the provider that speaks for a domain."""
    rows = await transaction.rows(_SQL["by_domain"], domain)
    return UUID((rows[0][0] or b"").decode()) if rows else None


async def find_by_entity_id(transaction: Transaction, entity_id: str) -> Provider | None:
    """Find a provider by its own name."""
    return await _found(transaction, "by_entity_id", entity_id)


async def every(transaction: Transaction) -> list[Provider]:
    """List the providers, oldest first, without their metadata."""
    return await transaction.all(_SQL["all"], Provider)


async def make(transaction: Transaction, entity_id: str, new: Change) -> UUID:
    """Make a provider. Raises: AuthError if its entity, a domain or the resource id is taken."""
    id = uuid4()
    try:
        await transaction.rows(_SQL["insert"], str(id), new.resource_id or "", new.disabled or False)
        await transaction.rows(
            _SQL["insert_saml"], str(id), entity_id, new.metadata_xml, new.metadata_url,
            _json(new.attribute_mapping), new.name_id_format or "",
        )  # fmt: skip
    except DatabaseError as error:
        raise _taken(error, entity_id=entity_id) from None
    await _set_domains(transaction, id, new.domains or ())
    return id


async def lock(transaction: Transaction, id: UUID) -> None:
    """Keep others from changing a provider until the transaction ends."""
    await transaction.rows(_SQL["lock"], str(id))


async def change(transaction: Transaction, id: UUID, wanted: Change) -> None:
    """Change a provider. Raises: AuthError if a domain or the resource id is taken."""
    try:
        await transaction.rows(_SQL["update"], str(id), wanted.resource_id, wanted.disabled)
        await transaction.rows(
            _SQL["update_saml"], str(id), wanted.metadata_xml, wanted.metadata_url,
            _json(wanted.attribute_mapping), wanted.name_id_format,
        )  # fmt: skip
    except DatabaseError as error:
        raise _taken(error, status=422) from None
    if wanted.domains is not None:
        await transaction.rows(_SQL["clear_domains"], str(id))
        await _set_domains(transaction, id, wanted.domains)


async def delete(transaction: Transaction, id: UUID) -> None:
    """Delete a provider; accounts that came by it stay, and find no way in."""
    await transaction.rows(_SQL["delete"], str(id))


async def may_ask_metadata(transaction: Transaction, id: UUID, now: datetime, pause: timedelta) -> bool:
    """Tell whether it is this caller who asks for metadata now, and note that it does."""
    times = (now.isoformat(), (now - pause).isoformat())
    return bool(await transaction.rows(_SQL["ask_metadata"], str(id), *times))


async def renew_metadata(
    transaction: Transaction, id: UUID, metadata_xml: str, metadata_url: str, now: datetime
) -> None:
    """Keep metadata that their address gave."""
    await transaction.rows(_SQL["renew_metadata"], str(id), metadata_xml, now.isoformat(), metadata_url)


async def begin_visit(transaction: Transaction, visit: Visit) -> None:
    """Keep what a browser is asked to bring back."""
    flow = "" if visit.flow_state_id is None else str(visit.flow_state_id)
    await transaction.rows(
        _SQL["begin_visit"], str(visit.id), str(visit.sso_provider_id), visit.request_id, visit.redirect_to, flow,
        visit.created_at.isoformat(),
    )  # fmt: skip


async def find_visit(transaction: Transaction, id: UUID) -> Visit | None:
    """Find the visit of a relay state."""
    return await transaction.one(_SQL["visit"], Visit, str(id))


async def end_visit(transaction: Transaction, id: UUID) -> bool:
    """End a visit; tell whether it was still open."""
    return bool(await transaction.rows(_SQL["end_visit"], str(id)))


async def use_assertion(
    transaction: Transaction, issuer: str, id: str, expires_at: datetime, now: datetime
) -> bool:
    """Note that an assertion is used; tell whether it is for the first time."""
    parts = (each.encode() for each in (issuer, id))
    digest = hashlib.sha256(b"".join(len(each).to_bytes(4, "big") + each for each in parts)).hexdigest()
    times = (expires_at.isoformat(), now.isoformat())
    return bool(await transaction.rows(_SQL["use_assertion"], digest, *times))


async def _found(transaction: Transaction, name: str, value: str) -> Provider | None:
    rows = await transaction.rows(_SQL[name], value)
    return await find(transaction, UUID((rows[0][0] or b"").decode())) if rows else None


async def _set_domains(transaction: Transaction, id: UUID, domains: Sequence[str]) -> None:
    for domain in domains:
        try:
            await transaction.rows(_SQL["insert_domain"], str(id), domain)
        except DatabaseError as error:
            raise _taken(error, domain=domain) from None


def _taken(
    error: DatabaseError, *, entity_id: str = "", domain: str = "", status: int | None = None
) -> Exception:
    """Give the refusal of a name that is taken, or the error itself."""
    if error.code != _UNIQUE:
        return error
    match error.constraint:
        case "saml_providers_entity_id_key":
            return rejections.SAML_IDP_EXISTS(entity_id=entity_id)
        case "sso_domains_domain_idx":
            return rejections.SSO_DOMAIN_EXISTS(domain=domain)
        case "sso_providers_resource_id_idx":
            return rejections.SSO_RESOURCE_EXISTS(status=status)
    return error


def _json(mapping: AttributeMapping | None) -> bytes | None:
    return None if mapping is None else msgspec.json.encode(mapping)
