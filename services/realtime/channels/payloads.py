"""Payloads of a channel: reading what clients send, and writing `system` messages. Pure."""

from typing import Any

import msgspec

_json = msgspec.json.encode
_read_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def system_payload(name: str, extension: str, status: str, message: str, **more: str) -> bytes:
    """Return the payload of a `system` message. `more` are members that only Headwater sends."""
    return _json({"extension": extension, "status": status, "message": message, "channel": name, **more})


def read_object(payload: bytes) -> dict[str, Any]:
    """Return a payload that is a JSON object; an empty one for anything else."""
    try:
        value = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read_members(payload: bytes) -> dict[str, msgspec.Raw]:
    """Return the members of a JSON object, not decoded; none for anything else."""
    try:
        return _read_raw(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def read_string(raw: msgspec.Raw | None) -> str:
    """Return a member that is a JSON string; an empty text for anything else."""
    try:
        return msgspec.json.decode(raw, type=str) if raw is not None else ""
    except (msgspec.DecodeError, UnicodeError):
        return ""
