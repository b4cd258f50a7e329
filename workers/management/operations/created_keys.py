"""Operations on API keys that are created and revoked while the platform runs: one for each application and server.

Only the digest is stored (`auth.hashed_keys`, a live setting), so a key is shown once, when it is created. Edges know a new key at once,
and forget a revoked one within a moment: `broker` announces the change, and an edge that missed it looks again within a minute.
"""

import re
from datetime import UTC, datetime
from typing import Annotated

from msgspec import Struct

from schemas.keys.hashed_keys import MOST_HASHED, STARTS, is_key_name, new_hashed_key, parse_hashed_key
from schemas.keys.secret_record import SecretRecord
from workers.management.areas.settings.change import change_settings
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments

_SETTING = "auth.hashed_keys"
_LONGEST_NAME = 64
_USED = re.compile(
    r'^headwater_api_key_last_used_seconds\{[^}]*\bkey="([a-z0-9_-]+)"[^}]*\} ([0-9.e+]+)$', re.MULTILINE
)
_STARTED = re.compile(r"^headwater_api_key_watched_since_seconds\{[^}]*\} ([0-9.e+]+)$", re.MULTILINE)


class KeyCreation(Struct, frozen=True, forbid_unknown_fields=True):
    """A new key. `kind`: `publishable` for applications, whose rights are those of their users; `secret` for servers, which pass all policies."""

    name: Annotated[str, limits.text(_LONGEST_NAME)]
    kind: Annotated[str, limits.choice(*STARTS)] = "publishable"


class KeyName(Struct, frozen=True, forbid_unknown_fields=True):
    """The name of a created key."""

    name: Annotated[str, limits.text(_LONGEST_NAME)]


class CreatedKeyText(SecretRecord, Struct, frozen=True):
    """A key as applications use it. It is shown this once: the platform stores its digest alone."""

    name: str
    kind: str
    key: str


class CreatedKey(Struct, frozen=True):
    """A created key. `used_at`: its last use, to the second; null if no running edge saw one. `watched_since`: since when all edges run, null
    if none answers, and for the command line. An older use is not known.
    """

    name: str
    kind: str
    hint: str
    created_on: str
    used_at: str | None
    watched_since: str | None


async def create(context: OperationContext, arguments: KeyCreation) -> CreatedKeyText:
    """Create a key and return it; it is accepted at once. 409 if the name is taken."""
    _check_name(arguments.name)
    if arguments.kind not in STARTS:
        raise invalid_arguments(f"`kind` must be one of {', '.join(STARTS)}")
    values = await _values(context)
    if arguments.name in values:
        raise ManagementError(
            409,
            "already_exists",
            f"There is a key {arguments.name}",
            hint="Take another name, such as one with the month. keys.revoke ends the present key.",
        )
    if len(values) >= MOST_HASHED:
        raise ManagementError(
            409, "too_many", f"There are {MOST_HASHED} keys already", hint="Revoke one that no client uses."
        )
    key, value = new_hashed_key(arguments.kind, datetime.now(UTC).date())
    await change_settings(context, context.live.stored.version, {_SETTING: {**values, arguments.name: value}})
    return CreatedKeyText(arguments.name, arguments.kind, key)


async def revoke(context: OperationContext, arguments: KeyName) -> None:
    """Reject a created key from now on. Sockets that were opened with it stay until they end."""
    _check_name(arguments.name)
    values = await _values(context)
    if arguments.name not in values:
        raise not_found(f"created key {arguments.name}")
    rest = {name: value for name, value in values.items() if name != arguments.name}
    await change_settings(context, context.live.stored.version, {_SETTING: rest})


async def list_created(context: OperationContext, arguments: NoArguments) -> list[CreatedKey]:
    """Return the created keys in the order of their names, and when edges last saw each."""
    del arguments
    values = await _values(context)
    text = await context.pools.metrics() if values and context.pools.has_broker else ""
    used: dict[str, float] = {}
    for name, seconds in _USED.findall(text):
        used[name] = max(used.get(name, 0.0), float(seconds))
    since = max((float(seconds) for seconds in _STARTED.findall(text)), default=0.0)
    return [
        CreatedKey(name, key.kind, key.hint, key.created, _moment(used.get(name, 0.0)), _moment(since))
        for name, value in sorted(values.items())
        if (key := parse_hashed_key(value))
    ]


def _check_name(name: str) -> None:
    if not is_key_name(name):
        raise invalid_arguments(
            "`name` must be up to 64 small letters, digits, - and _, and begin with a letter or digit"
        )


def _moment(seconds: float) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else None


async def _values(context: OperationContext) -> dict[str, str]:
    await context.live.check()
    return dict(context.live.settings.auth.hashed_keys)


def operations() -> list[Operation]:
    """Return the operations of this module."""
    owner = Right.OWNER
    return [
        Operation(
            "keys.create", "Create an API key", KeyCreation, CreatedKeyText, owner, create, changes=True, is_confirmed=True
        ),
        Operation("keys.created", "List created API keys", NoArguments, list[CreatedKey], Right.READER, list_created),
        Operation(
            "keys.revoke", "Revoke a created API key", KeyName, None, owner, revoke, changes=True, is_confirmed=True
        ),
    ]  # fmt: skip
