"""Limits on guessing: each attempt is counted before it is decided, so that attempts at once count too.

    password   10 of one address from one network, 30 of one address from networks where it never signed in, 50 of one network
    code       5 of one administrator in 15 minutes, 20 in a day
    challenge  100 of one network

Failures from elsewhere do not count against a network from which the administrator signed in before, so an attacker cannot lock
an owner out from afar. A link, a passkey and a recovery code cannot be guessed (80 bits or more): the right one is never refused, so
`headwater admin reset` always opens the way in. Windows are 15 minutes where nothing else is said.
"""

from collections.abc import Sequence

from schemas.client_networks import client_network
from workers.management.interface.errors import ManagementError
from workers.management.interface.identity.own_pool import OwnPool
from workers.management.interface.identity.personal_data import Lookup
from workers.management.interface.identity.store import execute

_WINDOW_S, _DAY_S = 15 * 60.0, 24 * 3600.0
_MOST_OF_ADDRESS = 10
_MOST_FROM_ELSEWHERE = 30
_MOST_FROM_NETWORK = 50
_MOST_CODES, _MOST_CODES_A_DAY = 5, 20
_MOST_CHALLENGES = 100


async def count_password(pool: OwnPool, email: str, address: str) -> list[Lookup]:
    """Count a password that is about to be checked; return the keys to forget if it is right. Raises: ManagementError (429)."""
    name, network = email.strip().lower(), client_network(address)
    await count_network(pool, address)
    here, elsewhere = Lookup(f"email:{name}:{network}"), _elsewhere(name)
    is_known = await execute(pool, "is_known_network", Lookup(name), Lookup(network))
    await _count(pool, here, _MOST_OF_ADDRESS)
    if not is_known:
        await _count(pool, elsewhere, _MOST_FROM_ELSEWHERE)
    return [here] if is_known else [here, elsewhere]


async def count_network(pool: OwnPool, address: str) -> None:
    """Count an attempt from a network. Raises: ManagementError (429)."""
    await _count(pool, _of_network(address), _MOST_FROM_NETWORK)


async def forgive_network(pool: OwnPool, address: str) -> None:
    """Take an attempt from a network back: it succeeded."""
    await execute(pool, "forget_attempt", _of_network(address))


async def count_code(pool: OwnPool, administrator_id: str) -> None:
    """Count a code of an authenticator app that is about to be checked. Raises: ManagementError (429)."""
    in_window, in_day = _code_keys(administrator_id)
    await _count(
        pool, in_window, _MOST_CODES
    )  # first: what it refuses is not checked, so it is no guess of the day
    await _count(pool, in_day, _MOST_CODES_A_DAY, _DAY_S)


async def count_challenge(pool: OwnPool, address: str) -> None:
    """Count a challenge for a client that is not signed in. Raises: ManagementError (429)."""
    await _count(pool, Lookup(f"challenge:{client_network(address)}"), _MOST_CHALLENGES)


async def forget(pool: OwnPool, keys: Sequence[Lookup]) -> None:
    """Forget the attempts of keys."""
    for key in keys:
        await execute(pool, "forget_attempts", key)


async def forget_codes(pool: OwnPool, administrator_id: str) -> None:
    """Forget wrong codes of an administrator."""
    await forget(pool, _code_keys(administrator_id))


async def forget_administrator(pool: OwnPool, administrator_id: str, email: str) -> None:
    """Forget the attempts that count against an administrator, but those of single networks."""
    await forget(pool, [*_code_keys(administrator_id), _elsewhere(email.strip().lower())])


def _of_network(address: str) -> Lookup:
    return Lookup(f"network:{client_network(address)}")


def _elsewhere(name: str) -> Lookup:
    return Lookup(f"email:{name}")


def _code_keys(administrator_id: str) -> tuple[Lookup, Lookup]:
    return Lookup(f"code:{administrator_id}"), Lookup(f"code of a day:{administrator_id}")


async def _count(pool: OwnPool, key: Lookup, most: int, window_s: float = _WINDOW_S) -> None:
    """Count an attempt. Raises: ManagementError (429) if there were too many."""
    if not await execute(pool, "count_attempt", key, most, window_s):
        raise ManagementError(
            429,
            "too_many_attempts",
            "There were too many failed attempts; try again later",
            hint="`headwater admin reset` on the platform's machine prints a link that signs in at once.",
            headers=[("retry-after", str(round(window_s)))],
        )
