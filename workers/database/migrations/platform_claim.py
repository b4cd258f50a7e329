"""Refuses a second platform on an outside database before it changes anything there.

    migration lock --> row of the platform that started here last --> its sessions --> refuse, or write our row

Two platforms on one database end each other: each start gives the logins its own passwords, and those of the other fail from then
on. With equal passwords the one that leads publishes row changes, jobs and settings into its own NATS, and the other's clients
see none of them. Logins belong to the server, so a platform in another database of it is cut off in the same way.

Whether the first one works is read from its sessions: they end with its processes, so a crash leaves nothing behind that has to
expire. A machine that lost its power leaves sessions that are silent (`_ALIVE_S`). A platform that has just been admitted has no
sessions yet (`_STARTING_S`): the second one waits for them that long.

One deployment is: the same data folder, moved or restored with its id; or processes that share a key. Keys are exchanged one at a
time, so one that agrees is enough.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import asyncpg
import msgspec

from schemas.database_logins import SESSION_LOGINS, configured_passwords, login_passwords
from schemas.platform_identity import PlatformIdentity
from schemas.settings.tree import Settings
from workers.database.migrations.files import MigrationError
from workers.database.migrations.settings_state import read_state, record_decision
from workers.database.sessions.passwords import matches
from workers.sql.files import read_statements

DECISION = "platform"
"""Name of the row in `headwater.decisions` that has the claim."""

_STATEMENTS = read_statements("workers.database.migrations", "platform_claim.sql")
_SEALED = "sealing_key"
_ALIVE_S = 90.0
_STARTING_S = 30.0
_AGAIN_S = 1.0
_QUERY_S = 30.0
_PAGE = 'docs/operations.md, "One database, one deployment"'


class PlatformClaim(msgspec.Struct, frozen=True):
    """The platform that was admitted last, and when: seconds of the server's clock."""

    platform: PlatformIdentity
    claimed_at: float


@dataclass(frozen=True, slots=True)
class PlatformSession:
    """A session of a login of the platform: in this database or in another one of the server."""

    database: str
    is_here: bool
    address: str
    silent_s: float


@dataclass(frozen=True, slots=True)
class SharedKeys:
    """What the keys of this start have in common with those that the database was used with."""

    cuts_off: bool
    """At least one login would get another password."""
    passwords: bool
    """At least one login has a password of its own that stays."""
    sealing: bool
    """Stored values of this database are encrypted with a key that this start names."""


async def claim_database(
    connection: asyncpg.Connection,
    settings: Settings,
    platform: PlatformIdentity,
    sealing_ids: str = "",
    report: Callable[[str], None] = lambda _: None,
) -> None:
    """Write that this platform works with the database. The caller holds the migration lock and has prepared the history.

    Raises: MigrationError while another platform works with it; asyncpg.PostgresError.
    """
    rows = await read_state(connection, settings)
    state = {(row["kind"], row["name"]): row["value"] for row in rows}
    claim = _read_claim(state.get(("decision", DECISION)))
    keys = shared_keys(state.items(), settings, sealing_ids)
    has_reported = False
    while True:
        now = await connection.fetchval(_STATEMENTS["now"], timeout=_QUERY_S)
        sessions = await _sessions(connection, settings)
        if reason := refusal(platform, claim, keys, sessions):
            raise MigrationError(reason)
        if not _may_be_starting(platform, claim, keys, sessions, now):
            break
        if not has_reported:
            report(
                f"another platform started here a moment ago: waiting {_STARTING_S:.0f} s for its sessions"
            )
            has_reported = True
        await asyncio.sleep(_AGAIN_S)
    await record_decision(connection, DECISION, msgspec.json.encode(PlatformClaim(platform, now)).decode())


def refusal(
    platform: PlatformIdentity,
    claim: PlatformClaim | None,
    keys: SharedKeys,
    sessions: Sequence[PlatformSession],
) -> str:
    """Return why a platform must not work with a database now; an empty text if it may (pure)."""
    here = [session for session in sessions if session.is_here]
    if here and claim and (reason := _conflict(platform, claim, keys)):
        name = f"{_name(claim.platform)} works with this database (last seen {here[0].silent_s:.0f} s ago)"
        return f"{name}. {reason} ({_PAGE})"
    elsewhere = [session for session in sessions if not session.is_here]
    if elsewhere and keys.cuts_off and not keys.passwords:
        return (
            f"a platform works with the database {elsewhere[0].database} of this server, from {elsewhere[0].address}. Logins belong "
            "to the whole server, and this start would change their passwords and cut that platform off: stop it first, use another "
            f"server, or give both the same passwords ({_PAGE})"
        )
    return ""


def shared_keys(
    state: Iterable[tuple[tuple[str, str], str | None]], settings: Settings, sealing_ids: str
) -> SharedKeys:
    """Compare the keys of a start with rows of `read_state` (kind and name, value) (pure).

    `sealing_ids` are those of `schemas/keys/sealing_keys.py: current_key_id`; the first part is empty without a sealing key.
    """
    passwords = login_passwords(settings)
    own = {role for role, password in configured_passwords(settings).items() if password is not None}
    agreeing: set[str] = set()
    differing: set[str] = set()
    stored_ids = ""
    for (kind, name), value in state:
        if kind == "password" and value is not None and name in passwords:
            (agreeing if matches(value, passwords[name].reveal()) else differing).add(name)
        elif (kind, name) == ("decision", _SEALED):
            stored_ids = value or ""
    sealing, stored = sealing_ids.partition("/")[0], stored_ids.partition("/")[0]
    return SharedKeys(bool(differing), bool(agreeing & own), bool(sealing) and sealing == stored)


def _may_be_starting(
    platform: PlatformIdentity,
    claim: PlatformClaim | None,
    keys: SharedKeys,
    sessions: Sequence[PlatformSession],
    now: float,
) -> bool:
    """Return whether the platform of the claim may be about to open its first sessions, and must not be replaced."""
    if claim is None or any(session.is_here for session in sessions):
        return False
    return 0 <= now - claim.claimed_at < _STARTING_S and bool(_conflict(platform, claim, keys))


def _conflict(platform: PlatformIdentity, claim: PlatformClaim, keys: SharedKeys) -> str:
    """Return why two platforms cannot both work with one database; empty if they are one deployment."""
    first = claim.platform
    if platform.id and platform.id == first.id:
        return ""
    if platform.has_own_broker and first.has_own_broker:
        return (
            "Each of the two runs a NATS server of its own, so row changes, jobs and settings would reach the clients of one alone: "
            "stop the first one, name another database, or give both the same NATS server (--nats-url) and the same keys"
        )
    if keys.cuts_off and not (keys.passwords or keys.sealing):
        return (
            "It has other keys, and this start would change the passwords of its logins and cut it off: stop it first, name another "
            "database, or give both the same keys"
        )
    return ""


def _name(platform: PlatformIdentity) -> str:
    folder = f" in {platform.folder}" if platform.folder else ""
    short = f" {platform.id[:8]}" if platform.id else ""
    return f"the platform{short}{folder} on {platform.host}"


def _read_claim(text: str | None) -> PlatformClaim | None:
    """Return a stored claim; None for one that another version wrote in another form."""
    try:
        return msgspec.json.decode(text, type=PlatformClaim) if text else None
    except msgspec.MsgspecError:
        return None


async def _sessions(connection: asyncpg.Connection, settings: Settings) -> list[PlatformSession]:
    logins = [name for name in {*login_passwords(settings), *SESSION_LOGINS} if name != "postgres"]
    rows = await connection.fetch(_STATEMENTS["sessions"], logins, _ALIVE_S, timeout=_QUERY_S)
    return [PlatformSession(row["database"], row["is_here"], row["address"], row["silent_s"]) for row in rows]
