"""The exchange of the JWT secret in a file of variables (`.env`), for `headwater keys rotate --jwt-secret`. Pure.

The secret that signs becomes the former one, whose tokens are accepted until a time, and the legacy API keys that the file has are
signed by the new one. Everything else in the file stays as it is, comments and order included.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from schemas.keys.legacy_keys import legacy_key

_SECRET, _FORMER = "HEADWATER_AUTH_JWT_SECRET", "HEADWATER_AUTH_FORMER_JWT_SECRET"
_UNTIL = "HEADWATER_AUTH_FORMER_JWT_SECRET_UNTIL"
_LEGACY = {"HEADWATER_AUTH_ANON_KEY": "anon", "HEADWATER_AUTH_SERVICE_ROLE_KEY": "service_role"}
_LINE = re.compile(r"(\s*(?:export\s+)?)([A-Za-z_][A-Za-z0-9_]*)(\s*=\s*)(.*?)(\r?)")


class SecretNotThere(Exception):
    """The file does not set the JWT secret."""


class FormerSecretValid(Exception):
    """The file names a former secret that is accepted still: another exchange would end it before its time."""


def exchange_secret(text: str, new_secret: str, until: datetime, now: datetime) -> str:
    """Return a file of variables with another JWT secret; its line ends stay.

    Raises: SecretNotThere; FormerSecretValid, unless the old secret is not to be accepted at all (`until` is not later than `now`).
    """
    lines = text.removesuffix("\n").split("\n")
    values = {match[2]: match[4] for line in lines if (match := _LINE.fullmatch(line))}
    if not values.get(_SECRET, "").strip("\"' "):
        raise SecretNotThere(f"it does not set {_SECRET}")
    accepted = values.get(_UNTIL, "").strip("\"' ")
    if until > now and values.get(_FORMER, "").strip("\"' ") and (_time(accepted) or now) > now:
        raise FormerSecretValid(
            f"its former secret is accepted until {accepted}, and another exchange would end that at once: wait until then, or remove "
            f"{_FORMER} and {_UNTIL} from it first"
        )
    changes = {
        _SECRET: new_secret,
        _FORMER: values[_SECRET],  # as it is quoted
        _UNTIL: f"{until:%Y-%m-%dT%H:%M:%SZ}",
        **{name: legacy_key(new_secret, role) for name, role in _LEGACY.items() if name in values},
    }
    changed = [_changed(line, changes) for line in lines]
    end = "\r" if lines[0].endswith("\r") else ""
    added = [f"{name}={changes[name]}{end}" for name in (_FORMER, _UNTIL) if name not in values]
    return "\n".join([*changed, *added]) + "\n"


def _time(text: str) -> datetime | None:
    """Return a moment, of UTC unless it has a zone; None for what is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _changed(line: str, changes: Mapping[str, str]) -> str:
    match = _LINE.fullmatch(line)
    if match is None or match[2] not in changes:
        return line
    return f"{match[1]}{match[2]}{match[3]}{changes[match[2]]}{match[5]}"
