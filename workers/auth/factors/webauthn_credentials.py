"""Credentials of WebAuthn as values: known, just made, kept, just used. Pure. Source: WebAuthn Level 3, 4 and 6.1."""

from dataclasses import dataclass, field
from uuid import UUID


class Unverified(Exception):
    """An answer is not what it should be; the text says in what, for the application's developer."""


@dataclass(frozen=True, slots=True)
class Known:
    """A credential that is there, and how browsers reach its authenticator."""

    id: bytes
    transports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A credential that was just made."""

    id: bytes
    public_key: bytes = field(repr=False)
    sign_count: int
    aaguid: UUID
    transports: tuple[str, ...]
    is_backup_eligible: bool
    is_backed_up: bool
    is_user_verified: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """What was kept of a credential that is used now."""

    public_key: bytes = field(repr=False)
    sign_count: int
    is_backup_eligible: bool


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a credential's use tells, to be kept."""

    sign_count: int
    is_backed_up: bool
    is_user_verified: bool
