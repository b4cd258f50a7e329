"""Networks from which a user has signed in recently. Wrong guesses from elsewhere do not use up attempts at these.

Clients of an API send no cookies, so a device is recognised by its network: an IPv4 address, or the 64-bit prefix of an IPv6
address. The table holds a keyed hash of the address that signs in and of the network, so it does not reveal who signs in
from where, and a look-up costs the same for an unregistered address. Source: docs/reference/auth.md, section 21.
"""

import hmac

from schemas.client_networks import client_network
from workers.auth.model.rows import AuthUser
from workers.database.transactions.interactive import Transaction, statement
from workers.database.transactions.model import Statement
from workers.sql.files import read_statements

LASTS_S = 60 * 24 * 3600
"""Seconds that a network stays known after the last sign-in there."""
MOST = 40
"""Networks per user; a new one replaces the oldest. One from which a user with an email and a phone signs in counts twice."""

_SQL = read_statements("workers.auth.accounts.codes", "networks.sql")


def network_of(client: str) -> str:
    """Return the network of a client's address: an IPv4 address, or the first half of an IPv6 one."""
    return "".join(sign for sign in client_network(client) if sign.isalnum() or sign in ".:")[:64]


def network_hash(key: bytes, aud: str, address: str, client: str) -> str:
    """Return the hash under which an address (email or phone, normalised) is known at a client's network; empty without a network."""
    network = network_of(client)
    if not network:
        return ""
    parts = [text.encode(errors="surrogatepass") for text in (aud, address, network)]
    message = b"network" + b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return hmac.digest(key, message, "sha256").hex()


async def is_known(transaction: Transaction, hashed: str) -> bool:
    """Return whether a user has signed in with an address at a network recently (`network_hash`)."""
    return bool(await transaction.rows(_SQL["is_known"], hashed, LASTS_S))


def remember(key: bytes, user: AuthUser, client: str) -> tuple[Statement, ...]:
    """Return the statements that store the network of a sign-in, under each of the user's addresses."""
    addresses = [(user.email or "").lower(), user.phone or ""]
    names = [network_hash(key, user.aud or "", address, client) for address in addresses if address]
    return tuple(statement(_SQL["remember"], name, str(user.id), LASTS_S, MOST) for name in names if name)
