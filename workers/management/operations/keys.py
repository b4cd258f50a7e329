"""Operations on keys: which keys sign and verify tokens, the API keys, and the rotation of signing keys.

Signing keys in a file (`auth.signing_keys_path`) are rotated here, one step a call; every process takes the file over within
seconds. Other keys are settings that are read at the start: the answer names the command or variable that changes them.
"""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from broker.processes.key_file import read_key_file
from broker.processes.private_file import exclusive_change, replace_private_file
from broker.processes.setting_files import find_file, setting_folders
from schemas.keys.key_rotation import RotationResult, RotationStep, entry_roles, rotate
from schemas.keys.legacy_keys import legacy_key
from schemas.keys.secret import Secret
from schemas.keys.secret_record import SecretRecord
from schemas.settings.auth import Auth
from schemas.settings.auth_keys import listed_keys
from schemas.settings.tree import (
    DEVELOPMENT_JWT_SECRET,
    DEVELOPMENT_PUBLISHABLE_KEY,
    DEVELOPMENT_SECRET_KEY,
    SettingsError,
)
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import NoArguments

_HINT_CHARACTERS = 4
_FILE_SETTING = "auth.signing_keys_path"
_MOST_SEEN = 100
_NEXT = {
    RotationStep.ADDED: "Repeat it in 20 minutes or later, when every cache of the public keys knows the new key: then it signs.",
    RotationStep.MOVED: "Repeat it when the last token of the old key has ended, after auth.jwt_expiry: then the old key is dropped.",
    RotationStep.DROPPED: "The rotation is complete. The next call begins another one.",
}


class SigningKeyDescription(Struct, frozen=True):
    """A key of tokens, without private parts. `role`: signs, standby (signs next) or verifies.

    `id` is its `kid`; of a key without one the setting that holds it, with its place in a list: `auth.jwt_secret`, `auth.jwt_keys 2`.
    """

    id: str
    algorithm: str
    role: str


class ApiKeyDescription(Struct, frozen=True):
    """An API key. `hint` are its last four characters; `is_development`: it is the published key of development, which is no secret."""

    name: str
    setting: str
    kind: str
    hint: str
    is_development: bool


class KeyOverview(Struct, frozen=True):
    """The keys of the platform. `source`: where signing keys come from; `commands`: what the machine's command does."""

    source: str
    signing_keys: list[SigningKeyDescription]
    api_keys: list[ApiKeyDescription]
    can_rotate: bool
    commands: dict[str, str]
    fault: str = ""


class ApiKeyText(SecretRecord, Struct, frozen=True):
    """An API key as applications use it."""

    name: str
    kind: str
    key: str


class RotationRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The next step. `seen`: the roles of the signing keys by id, as `keys.list` shows them; it is refused if they are others by now."""

    seen: Annotated[dict[str, str], limits.members(_MOST_SEEN)] | None = None


class KeyRotation(Struct, frozen=True):
    """The step that was done: added, moved or dropped; which key signs, and what to do next."""

    step: str
    signing: str
    others: list[str]
    next: str


async def list_keys(context: OperationContext, arguments: NoArguments) -> KeyOverview:
    """Return the keys that sign and verify tokens, and the API keys, without their texts."""
    del arguments
    auth = context.configuration.auth
    source, keys, fault = await asyncio.to_thread(_signing_keys, auth)
    api_keys = [
        ApiKeyDescription(name, setting, kind, text[-_HINT_CHARACTERS:], _is_published(auth, setting))
        for name, setting, kind, text in _api_keys(auth)
    ]
    return KeyOverview(source, keys, api_keys, source == "file" and not fault, _commands(auth, source), fault)


async def show(context: OperationContext, arguments: NoArguments) -> list[ApiKeyText]:
    """Return the API keys as applications and servers use them. An audit row names who saw them."""
    del arguments
    return [ApiKeyText(name, kind, text) for name, _, kind, text in _api_keys(context.configuration.auth)]


async def rotate_signing_keys(context: OperationContext, arguments: RotationRequest) -> KeyRotation:
    """Do the next step of a rotation on the file of signing keys. No user is signed out if the times between steps are kept."""
    if arguments.seen is not None and not 1 <= len(arguments.seen) <= _MOST_SEEN:
        raise invalid_arguments(f"`seen` must have 1 to {_MOST_SEEN} entries")
    auth = context.configuration.auth
    if auth.jwt_keys is not None or not auth.signing_keys_path:
        raise ManagementError(
            409,
            "needs_command",
            "The signing keys are not in a file, so they are exchanged on the machine",
            hint=_commands(auth, "settings" if auth.jwt_keys else "secret")["rotate"],
        )
    file = _key_file(auth)
    try:
        result = await asyncio.to_thread(_rotate_file, file, arguments.seen)
    except (OSError, ValueError, SettingsError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ManagementError(
            409,
            "needs_command",
            f"The file of signing keys cannot be changed from here: {reason}",
            hint=f"On the machine, as the owner of the file: headwater keys rotate --keys {file}",
        ) from None
    context.after = {"step": result.step.value, "signing": result.signing, "others": list(result.others)}
    return KeyRotation(
        result.step.value,
        result.signing,
        list(result.others),
        _NEXT[RotationStep.DROPPED if result.is_last else result.step]
        + " Where several machines have copies of the file, bring each step to all of them before the next.",
    )


def _rotate_file(file: Path, seen: dict[str, str] | None) -> RotationResult:
    with exclusive_change(file):
        text = read_key_file(file)
        present = {key.id: key.role for key in _described(text, _FILE_SETTING)}
        if seen is not None and seen != present:
            raise ManagementError(
                409,
                "newer_version",
                "Someone else rotated the keys meanwhile, so this would be the step after theirs; nothing was done",
                hint="keys.list shows the keys as they are. Keep the time between two steps.",
            )
        result = rotate(text)
        replace_private_file(file, result.text)
    return result


def _key_file(auth: Auth) -> Path:
    return find_file(auth.signing_keys_path, setting_folders()).resolve()


def _signing_keys(auth: Auth) -> tuple[str, list[SigningKeyDescription], str]:
    """Return where signing keys come from (file, settings or secret), the keys, and why they cannot be read."""
    try:
        if auth.jwt_keys is not None:
            return "settings", _described(auth.jwt_keys.reveal(), "auth.jwt_keys"), ""
        if auth.signing_keys_path:
            return "file", _described(read_key_file(_key_file(auth)), _FILE_SETTING), ""
    except (SettingsError, ValueError) as error:
        return "file" if auth.jwt_keys is None else "settings", [], str(error)
    return "secret", [SigningKeyDescription(auth.jwt_key_id or "auth.jwt_secret", "HS256", "signs")], ""


def _described(text: str, setting: str) -> list[SigningKeyDescription]:
    return [
        SigningKeyDescription(id or f"{setting} {place}", algorithm, role)
        for place, (id, algorithm, role) in enumerate(entry_roles(text), 1)
    ]


def _api_keys(auth: Auth) -> list[tuple[str, str, str, str]]:
    """Return name, setting, kind and text of each API key."""
    secret = auth.jwt_secret.reveal()
    return [
        ("publishable", "auth.publishable_key", "public", auth.publishable_key.reveal()),
        *_further("publishable", "auth.publishable_keys", "public", auth.publishable_keys),
        ("secret", "auth.secret_key", "secret", auth.secret_key.reveal()),
        *_further("secret", "auth.secret_keys", "secret", auth.secret_keys),
        (
            "anon",
            "auth.anon_key",
            "public",
            auth.anon_key.reveal() if auth.anon_key else legacy_key(secret, "anon"),
        ),
        (
            "service_role",
            "auth.service_role_key",
            "secret",
            auth.service_role_key.reveal() if auth.service_role_key else legacy_key(secret, "service_role"),
        ),
    ]


def _further(name: str, setting: str, kind: str, keys: Secret | None) -> list[tuple[str, str, str, str]]:
    return [(f"{name} {number}", setting, kind, text) for number, text in enumerate(listed_keys(keys), 2)]


def _is_published(auth: Auth, setting: str) -> bool:
    match setting:
        case "auth.publishable_key":
            return auth.publishable_key.matches(DEVELOPMENT_PUBLISHABLE_KEY)
        case "auth.secret_key":
            return auth.secret_key.matches(DEVELOPMENT_SECRET_KEY)
        case "auth.anon_key" | "auth.service_role_key":
            return auth.jwt_secret.matches(DEVELOPMENT_JWT_SECRET)
    return False


def _commands(auth: Auth, source: str) -> dict[str, str]:
    """Return what is done on the machine, by what it is for."""
    make_file = "(umask 077; headwater keys --signing > supabase/signing_keys.json)"
    rotation = {
        "file": f"headwater keys rotate --keys {auth.signing_keys_path}",
        "settings": "Exchange HEADWATER_AUTH_JWT_KEYS (auth.jwt_keys) and restart; or move the list into a file that "
        "auth.signing_keys_path names, which is rotated without a restart",
        "secret": f'{make_file}, then signing_keys_path = "./signing_keys.json" in [auth], and restart once',
    }
    return {
        "rotate": rotation[source],
        "new_api_keys": "headwater keys >> .env, and restart. To exchange them one by one, add new ones to "
        "HEADWATER_AUTH_PUBLISHABLE_KEYS and HEADWATER_AUTH_SECRET_KEYS first",
    }


def operations() -> list[Operation]:
    """Return the operations of this module."""
    owner = Right.OWNER
    return [
        Operation("keys.list", "List signing keys and API keys", NoArguments, KeyOverview, Right.READER, list_keys),
        Operation(
            "keys.show", "Show the API keys", NoArguments, list[ApiKeyText], owner, show, changes=True, is_confirmed=True
        ),
        Operation(
            "keys.rotate", "Do the next step of a rotation of signing keys", RotationRequest, KeyRotation, owner,
            rotate_signing_keys, changes=True, is_confirmed=True,
        ),
    ]  # fmt: skip
