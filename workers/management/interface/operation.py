"""What an operation is: a name, a struct of arguments, the right that it needs, its limits, and what its audit row holds.

An operation is a coroutine function of a context and its arguments that returns a struct (its result, as JSON). It is listed
once, in `operations/__init__.py`; every interface calls it by its name through `worker.py`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from schemas.settings.management import Management
from schemas.settings.tree import Settings
from workers.management.interface.backends.database import ManagementDatabase
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.interface.identity.model import Actor
from workers.management.interface.identity.secrets import FactorSecrets, PasswordHashing
from workers.management.interface.rights import Right
from workers.settings.live_settings import LiveSettings

_LONGEST_AUDITED = 8192
"""Characters of an argument that an audit row keeps."""


@dataclass(slots=True)
class OperationContext:
    """What an operation works with: who asks, the database, the other pools. `before` and `after` go into the audit row."""

    actor: Actor
    request_id: str
    address: str
    database: ManagementDatabase
    settings: "ManagementSettings"
    hashing: PasswordHashing
    configuration: Settings
    """The settings of the whole platform. They contain secrets: no result shows one."""
    pools: PlatformPools
    live: LiveSettings
    upload: AsyncIterator[bytes] | None = None
    """The body of the request, for operations that take one (`Operation.takes_body`)."""
    before: object = None
    after: object = None
    origin: str = ""
    """The address under which the client reaches this platform, as in `https://api.example.org`; empty for the command line."""
    factor_secrets: FactorSecrets | None = None
    """What second factors of administrators are verified with."""

    @property
    def public_url(self) -> str:
        """The address of the platform for clients: the configured one, else that of this request; it may be empty."""
        return (self.configuration.api.external_url or self.origin).rstrip("/")


@dataclass(frozen=True, slots=True)
class ManagementSettings:
    """What operations need to know of the settings."""

    session_idle_s: float
    first_link_s: float
    statement_timeout_s: float
    max_rows: int
    project_folder: Path | None = None
    """The folder of config.toml and migrations, if the environment names one. It need not exist on this machine."""


def operation_settings(settings: Management, project_folder: Path | None = None) -> ManagementSettings:
    """Return what operations need to know of the settings."""
    return ManagementSettings(
        session_idle_s=float(settings.session_idle_timeout),
        first_link_s=float(settings.first_link_lifetime),
        statement_timeout_s=float(settings.statement_timeout),
        max_rows=settings.max_rows,
        project_folder=project_folder,
    )


Run = Callable[[OperationContext, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class StreamedResult:
    """A result of any size, sent while it is produced. Whoever does not read `chunks` to the end calls their `aclose`.

    `file_name` is the name under which browsers save it. A stream that fails after its first byte breaks off, so that the
    client sees an incomplete response.
    """

    content_type: str
    chunks: AsyncIterator[bytes]
    file_name: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `changes`: it writes, needs a token that may write, and leaves an audit row."""

    name: str
    summary: str
    arguments: type[msgspec.Struct]
    result: Any
    right: Right
    run: Run
    changes: bool = False
    is_confirmed: bool = False
    """The administrator must have proved a password within the last minutes: what shows secrets, or destroys."""
    secrets: frozenset[str] = field(default_factory=frozenset)
    """Arguments that the audit row must not contain."""
    max_body_bytes: int = 1024 * 1024
    """Longest body of a request."""
    only_reads: Callable[[Any], bool] | None = None
    """For an operation with `changes`: whether these arguments change nothing. Then a token that only reads suffices."""
    write_right: Right | None = None
    """The right that is needed where `only_reads` says no; `right` is that of reading."""
    takes_body: bool = False
    """The body of the request is data (`OperationContext.upload`), the arguments are JSON in the query parameter `arguments`."""
    streams: tuple[str, ...] = ()
    """Content types of the result, if it is a `StreamedResult`."""

    def may_change(self, arguments: Any) -> bool:
        """Return whether an execution with these arguments may change something."""
        return self.changes and not (self.only_reads is not None and self.only_reads(arguments))


class OperationTable:
    """The operations by their names."""

    def __init__(self) -> None:
        self._operations: dict[str, Operation] = {}

    def add(self, operation: Operation) -> None:
        """Add an operation. Raises: ValueError if its name is used."""
        if operation.name in self._operations:
            raise ValueError(f"two operations are named {operation.name}")
        self._operations[operation.name] = operation

    def find(self, name: str) -> Operation | None:
        """Return an operation, or None."""
        return self._operations.get(name)

    def all(self) -> list[Operation]:
        """Return all operations, sorted by name."""
        return [self._operations[name] for name in sorted(self._operations)]


def audited_arguments(operation: Operation, arguments: msgspec.Struct) -> dict[str, object]:
    """Return the arguments as the audit row holds them: secrets are replaced."""
    return {
        name: "(not stored)"
        if name in operation.secrets
        else _shortened(msgspec.to_builtins(getattr(arguments, name)))
        for name in arguments.__struct_fields__
        if getattr(arguments, name) is not msgspec.UNSET
    }


def _shortened(value: object) -> object:
    """Return a value for an audit row: a long text keeps its beginning, so that one long argument does not hide the others."""
    if isinstance(value, str) and len(value) > _LONGEST_AUDITED:
        return f"{value[:_LONGEST_AUDITED]} ... ({len(value)} characters)"
    return value
