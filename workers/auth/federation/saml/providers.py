"""Identity providers of single sign-on in the database, relay states of sign-ins, and used assertions.

Each function runs in the caller's transaction. Source: docs/reference/auth.md, sections 13, 16.8 and 24.3.
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
from workers.database.transactions.interactive import Transaction
from workers.sql.files import read_statements

_SQL = read_statements("workers.auth.federation.saml", "providers.sql")
_UNIQUE = "23505"


class SsoDomain(Struct, frozen=True):
    """An email domain whose users sign in by an identity provider."""

    id: UUID
    domain: str
    created_at: datetime | None = None
    updated_at: datetime | None = None


class SamlRegistration(Struct, frozen=True):
    """The SAML data of an identity provider. `updated_at` is when its metadata were fetched or changed."""

    entity_id: str
    metadata_xml: str
    metadata_url: str | None = None
    attribute_mapping: AttributeMapping | None = None
    name_id_format: str | None = None
    updated_at: datetime | None = None
    metadata_asked_at: datetime | None = None


class SsoProvider(Struct, frozen=True):
    """An identity provider of an organization."""

    id: UUID
    resource_id: str | None = None
    disabled: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None
    saml: SamlRegistration | None = None
    domains: tuple[SsoDomain, ...] = ()

    @property
    def name(self) -> str:
        """Its name in `auth.identities`."""
        return f"sso:{self.id}"


class RelayState(Struct, frozen=True):
    """A sign-in at an identity provider that has begun: the id of our request, and where the result goes."""

    id: UUID
    sso_provider_id: UUID
    request_id: str
    created_at: datetime
    redirect_to: str | None = None
    flow_state_id: UUID | None = None
    browser_hash: str | None = None
    """The browser that began it (`social/browsers.py`)."""

    def is_older(self, than: timedelta, now: datetime) -> bool:
        """Return whether the sign-in has expired."""
        return now >= self.created_at + than


@dataclass(frozen=True, slots=True)
class SsoProviderChange:
    """Changes of a provider; None keeps the value. `metadata_url` belongs to `metadata_xml`."""

    resource_id: str | None = None
    disabled: bool | None = None
    metadata_xml: str | None = None
    metadata_url: str = ""
    attribute_mapping: AttributeMapping | None = None
    name_id_format: str | None = None
    domains: Sequence[str] | None = None


async def find(transaction: Transaction, id: UUID) -> SsoProvider | None:
    """Find a provider."""
    return await transaction.one(_SQL["by_id"], SsoProvider, str(id))


async def find_by_resource_id(transaction: Transaction, resource_id: str) -> SsoProvider | None:
    """Find a provider by its `resource_id`, a name that an administrator chose."""
    return await _found(transaction, "by_resource_id", resource_id)


async def find_by_domain(transaction: Transaction, domain: str) -> SsoProvider | None:
    """Find the provider of a domain."""
    return await _found(transaction, "by_domain", domain)


async def domain_owner(transaction: Transaction, domain: str) -> UUID | None:
    """Return the id of the provider that has a domain."""
    rows = await transaction.rows(_SQL["by_domain"], domain)
    return UUID((rows[0][0] or b"").decode()) if rows else None


async def find_by_entity_id(transaction: Transaction, entity_id: str) -> SsoProvider | None:
    """Find a provider by its own name."""
    return await _found(transaction, "by_entity_id", entity_id)


async def list_all(transaction: Transaction) -> list[SsoProvider]:
    """List the providers, oldest first, without their metadata."""
    return await transaction.all(_SQL["all"], SsoProvider)


async def create(transaction: Transaction, entity_id: str, new: SsoProviderChange) -> UUID:
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
    """Lock a provider's row until the transaction ends."""
    await transaction.rows(_SQL["lock"], str(id))


async def change(transaction: Transaction, id: UUID, wanted: SsoProviderChange) -> None:
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
    """Delete a provider. Its users' accounts stay, but they cannot sign in by it any more."""
    await transaction.rows(_SQL["delete"], str(id))


async def claim_metadata_refresh(transaction: Transaction, id: UUID, now: datetime, pause: timedelta) -> bool:
    """Return whether this process may fetch the metadata now, and record the time: one of several that are stale at once."""
    times = (now.isoformat(), (now - pause).isoformat())
    return bool(await transaction.rows(_SQL["ask_metadata"], str(id), *times))


async def renew_metadata(
    transaction: Transaction, id: UUID, metadata_xml: str, metadata_url: str, now: datetime
) -> None:
    """Store metadata that were fetched from their URL."""
    await transaction.rows(_SQL["renew_metadata"], str(id), metadata_xml, now.isoformat(), metadata_url)


async def add_relay_state(transaction: Transaction, relay_state: RelayState) -> None:
    """Store the relay state that a browser will bring back."""
    flow = "" if relay_state.flow_state_id is None else str(relay_state.flow_state_id)
    await transaction.rows(
        _SQL["add_relay_state"], str(relay_state.id), str(relay_state.sso_provider_id), relay_state.request_id, relay_state.redirect_to, flow,
        relay_state.created_at.isoformat(),
    )  # fmt: skip


async def find_relay_state(transaction: Transaction, id: UUID) -> RelayState | None:
    """Find a relay state."""
    return await transaction.one(_SQL["visit"], RelayState, str(id))


async def use_relay_state(transaction: Transaction, id: UUID) -> bool:
    """Use a relay state: delete its row. Return whether it still existed."""
    return bool(await transaction.rows(_SQL["use_relay_state"], str(id)))


async def use_assertion(
    transaction: Transaction, issuer: str, id: str, expires_at: datetime, now: datetime
) -> bool:
    """Record the use of an assertion. Return whether it was not used before (replay protection)."""
    parts = (part.encode() for part in (issuer, id))
    digest = hashlib.sha256(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).hexdigest()
    times = (expires_at.isoformat(), now.isoformat())
    return bool(await transaction.rows(_SQL["use_assertion"], digest, *times))


async def _found(transaction: Transaction, name: str, value: str) -> SsoProvider | None:
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
    """Return the AuthError for a name that is taken, or the error itself."""
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
