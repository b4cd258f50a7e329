"""Parses the text that a wallet signs: EIP-4361, and its counterpart of Solana. Strict. Pure.

    example.com wants you to sign in with your Ethereum account:
    0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
                                                            (an empty line)
    I accept the terms                                      (optional statement, one line)
                                                            (an empty line)
    URI: https://example.com/sign-in
    Version: 1
    Chain ID: 1
    Nonce: 32891756
    Issued At: 2026-11-21T01:30:00.123Z                     (also: Expiration Time, Not Before, Request ID, Resources)

Wallets differ in the order of the fields, and write one or two empty lines if there is no statement; no field may occur twice. Source: docs/reference/auth.md, section 14; EIP-4361, "Message Format"; RFC 3339.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

SHORTEST, LONGEST = 64, 20 * 1024
"""Bytes of a message."""

_GREETING = re.compile(
    r"(?:([a-z][a-z0-9+.-]*)://)?([^\s/?#@\\]+) wants you to sign in with your (\w+) account:"
)
_FIELD = re.compile(r"([A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*)*): (\S(?:.*\S)?)")
_NAMES = frozenset(
    {"URI", "Version", "Chain ID", "Nonce", "Issued At", "Expiration Time", "Not Before", "Request ID"}
)
_NEEDED = ("URI", "Version", "Issued At")
_RESOURCES = ("Resources:", "Resources")  # one client leaves the colon out
_NONCE = re.compile(r"[A-Za-z0-9]{8,}")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class BadMessage(ValueError):
    """The text is not a sign-in message. The error text says why."""


@dataclass(frozen=True, slots=True)
class WalletMessage:
    """A parsed message. Times are in UTC; a missing field is empty or None."""

    scheme: str
    domain: str
    address: str
    statement: str
    uri: str
    chain_id: str
    nonce: str
    issued_at: datetime
    expires_at: datetime | None
    not_before: datetime | None


def parse_message(text: str, chain_name: str) -> WalletMessage:
    """Parse a message for a chain (`Ethereum`, `Solana`). Raises: BadMessage."""
    size = len(text.encode(errors="surrogatepass"))
    if not SHORTEST <= size <= LONGEST:
        raise BadMessage(f"message must have {SHORTEST} to {LONGEST} bytes")
    lines = text.split("\n")
    if any(not line.isprintable() for line in lines):
        raise BadMessage("message holds characters that cannot be shown")
    greeting = _GREETING.fullmatch(lines[0])
    if greeting is None or greeting[3] != chain_name:
        raise BadMessage(f"message does not begin with the request of a {chain_name} account")
    if len(lines) < 3 or lines[2]:
        raise BadMessage("message has no empty line behind the address")
    statement, fields = _statement(lines[3:])
    values = _fields(fields)
    return WalletMessage(
        scheme=greeting[1] or "",
        domain=greeting[2],
        address=lines[1],
        statement=statement,
        uri=values["URI"],
        chain_id=values.get("Chain ID", ""),
        nonce=values.get("Nonce", ""),
        issued_at=_time("Issued At", values["Issued At"]),
        expires_at=_optional_time("Expiration Time", values),
        not_before=_optional_time("Not Before", values),
    )


def _statement(lines: list[str]) -> tuple[str, list[str]]:
    """Separate the statement from the fields: it stands alone before (an empty line)."""
    if lines and not lines[0]:
        return "", lines[1:]
    if len(lines) > 1 and not lines[1]:
        return lines[0], lines[2:]
    return "", lines


def _fields(lines: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for index, line in enumerate(lines):
        if line in _RESOURCES:
            _refuse_odd_resources(lines[index + 1 :])
            break
        match = _FIELD.fullmatch(line)
        if match is None or match[1] not in _NAMES:
            raise BadMessage("message has a line that has no meaning")
        if match[1] in values:
            raise BadMessage(f"message has {match[1]} twice")
        values[match[1]] = match[2]
    for name in _NEEDED:
        if name not in values:
            raise BadMessage(f"message has no {name}")
    if values["Version"] != "1":
        raise BadMessage("Version must be 1")
    if "Nonce" in values and not _NONCE.fullmatch(values["Nonce"]):
        raise BadMessage("Nonce must have 8 letters and digits or more")
    return values


def _refuse_odd_resources(lines: list[str]) -> None:
    if any(not line.startswith("- ") for line in lines):
        raise BadMessage("message has something else among its Resources")


def _optional_time(name: str, values: dict[str, str]) -> datetime | None:
    return _time(name, values[name]) if name in values else None


def _time(name: str, text: str) -> datetime:
    """Parse a time of RFC 3339; fractions of a microsecond are dropped."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise BadMessage(f"{name} is no time of RFC 3339")
    day, clock, fraction, zone = match.groups()
    zone = "+00:00" if zone in "Zz" else zone
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}.{(fraction or '0')[:6]:0<6}{zone}")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadMessage(f"{name} is no time of RFC 3339") from None
