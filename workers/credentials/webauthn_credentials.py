"""WebAuthn credentials as values: existing, new, stored, used. Pure. Source: WebAuthn Level 3, sections 4 and 6.1."""

from dataclasses import dataclass, field
from uuid import UUID

JsonObject = dict[str, object]


class Unverified(Exception):
    """A response could not be verified; the text tells the application's developer why."""


@dataclass(frozen=True, slots=True)
class CredentialOwner:
    """The owner of a credential: `handle` is stored by the authenticator, the names are shown by it."""

    handle: bytes
    name: str
    display_name: str


@dataclass(frozen=True, slots=True)
class KnownCredential:
    """An existing credential, and how browsers reach its authenticator."""

    id: bytes
    transports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A credential that was just created."""

    id: bytes
    public_key: bytes = field(repr=False)
    sign_count: int
    aaguid: UUID
    transports: tuple[str, ...]
    is_backup_eligible: bool
    is_backed_up: bool
    is_user_verified: bool


@dataclass(frozen=True, slots=True)
class StoredCredential:
    """The stored values by which an assertion is verified."""

    public_key: bytes = field(repr=False)
    sign_count: int
    is_backup_eligible: bool


@dataclass(frozen=True, slots=True)
class WebauthnAssertion:
    """The values of an assertion that must be stored."""

    sign_count: int
    is_backed_up: bool
    is_user_verified: bool
