"""Rotation of signing keys without downtime: the next step for a list of JWKs. Pure, except for the generated key.

    one key, it signs  --ADDED-->    a second one, the standby, verifies: caches of the public keys learn it
                       --MOVED-->    the standby signs; the old one verifies what it has signed
                       --DROPPED-->  the old one is removed

The list itself shows the state of a rotation: a key that only verifies is the standby as long as it has its private half. The old
key loses that when it stops signing. Shared secrets (`oct`) that only verify stay as they are.
Source: docs/reference/auth.md, section 3.2.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from schemas.keys.signing import (
    PRIVATE_MEMBERS,
    algorithm_of,
    new_signing_key,
    operations,
    read_entries,
    read_signing_key,
)
from schemas.keys.token_keys import read_keys

Entry = Mapping[str, object]


class RotationStep(StrEnum):
    """The step that was done."""

    ADDED = "added"
    MOVED = "moved"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class RotationResult:
    """A list of keys after a step. `signing` names the key that signs, `others` the keys that the step changed."""

    step: RotationStep
    text: str
    signing: str
    others: tuple[str, ...]
    is_last: bool = False
    """The rotation is complete."""


def new_list() -> str:
    """Return a list with one new key, which signs."""
    return list_text([new_signing_key()])


def list_text(entries: list[Entry]) -> str:
    """Return a list of JWKs as the text of a file."""
    return json.dumps(entries, indent=2) + "\n"


def rotate(text: str, make: Callable[[], dict[str, object]] = new_signing_key) -> RotationResult:
    """Do the next step of a rotation. Raises: ValueError, whose text contains nothing of a key."""
    entries = _checked(text)
    signer = _signer(entries)
    rest = [entry for entry in entries if entry is not signer and _rotates(entry)]
    standby = [entry for entry in rest if _is_private(entry)]
    old = [entry for entry in rest if not _is_private(entry)]
    if len(standby) > 1:
        raise ValueError(
            "more than one key that only verifies has its private half; which one signs next is not clear"
        )
    if standby:
        return _moved(entries, signer, standby[0])
    if old:
        remaining = [entry for entry in entries if entry not in old]
        return RotationResult(
            RotationStep.DROPPED,
            list_text(remaining),
            name_of(signer),
            tuple(map(name_of, old)),
            is_last=True,
        )
    added = {**make(), "key_ops": ["verify"]}
    extended = [*_with(entries, signer, _signing(signer)), added]
    return RotationResult(RotationStep.ADDED, list_text(extended), name_of(signer), (name_of(added),))


def entry_roles(text: str) -> list[tuple[str, str, str]]:
    """Return `kid`, algorithm and role of each key: signs, standby (it signs next) or verifies. Raises: ValueError."""
    entries = _checked(text)
    signer = _signer(entries)
    return [(str(entry.get("kid") or ""), algorithm_of(entry), _role(entry, signer)) for entry in entries]


def _role(entry: Entry, signer: Entry) -> str:
    if entry is signer:
        return "signs"
    return "standby" if _rotates(entry) and _is_private(entry) else "verifies"


def name_of(entry: Entry) -> str:
    """Return the description of a key: its `kid` and its algorithm."""
    return f"{entry.get('kid') or 'without a kid'} ({algorithm_of(entry)})"


def _checked(text: str) -> list[Entry]:
    """Parse a list of keys of which one can sign, and all verify. Raises: ValueError."""
    entries = list(read_entries(text))
    read_signing_key(text)
    read_keys(text)
    names = [entry["kid"] for entry in entries if "kid" in entry]
    if any(not isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("every kid must be a text that no other key has")
    return [*entries]


def _signer(entries: list[Entry]) -> Entry:
    """Return the key that signs, by the rule of `read_signing_key`."""
    return next((entry for entry in entries if "sign" in operations(entry)), entries[0])


def _moved(entries: list[Entry], signer: Entry, standby: Entry) -> RotationResult:
    old = {name: value for name, value in signer.items() if name not in PRIVATE_MEMBERS}
    entries = _with(entries, signer, {**old, "key_ops": ["verify"]})
    entries = _with(entries, standby, _signing(standby))
    text = list_text(entries)
    read_signing_key(text)
    return RotationResult(
        RotationStep.MOVED, text, name_of(standby), (name_of(signer),), is_last=not _rotates(signer)
    )


def _signing(entry: Entry) -> Entry:
    return {**entry, "key_ops": ["sign", "verify"]}


def _with(entries: list[Entry], old: Entry, new: Entry) -> list[Entry]:
    return [new if entry is old else entry for entry in entries]


def _rotates(entry: Entry) -> bool:
    """Return whether a key takes part in rotations: it is for signatures, and not a shared secret."""
    return entry.get("kty") != "oct" and entry.get("use") != "enc"


def _is_private(entry: Entry) -> bool:
    return any(name in entry for name in PRIVATE_MEMBERS)
