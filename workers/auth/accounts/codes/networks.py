"""Networks that an address is known at: where its user has signed in lately. Guesses of others use up no tries of these.

Clients of an API have no cookies, so a device is known by where it is: an IPv4 address, or the 64 bits of an IPv6 address
that one connection has. What is kept is a keyed hash of the address that signs in and of the network, so the table tells
nobody who signs in from where, and a look-up costs the same for an address that nobody has. Source: reference page "auth", 21.
"""

import hmac
import ipaddress

from workers.auth.model.rows import User
from workers.database.interactive import Transaction, statement
from workers.database.session import Statement
from workers.sql.files import read_statements

LASTS_S = 60 * 24 * 3600
"""How long a network stays known after the last sign-in there."""
MOST = 20
"""Networks that a user has; a new one takes the place of the oldest."""

_SQL = read_statements("workers.auth.accounts.codes", "networks.sql")
_V6_BITS = 64


def network_of(client: str) -> str:
    """Return the network of a client's address: an IPv4 address, or the first half of an IPv6 one."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return "".join(sign for sign in client if sign.isalnum() or sign in ".:")[:64]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, _V6_BITS), strict=False).network_address)
    return str(address)


def network_hash(key: bytes, aud: str, address: str, client: str) -> str:
    """Return the name under which an address (e-mail or phone, normalised) is known at a client's network; empty without one."""
    network = network_of(client)
    if not network:
        return ""
    parts = [text.encode(errors="surrogatepass") for text in (aud, address, network)]
    told = b"network" + b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return hmac.digest(key, told, "sha256").hex()


async def is_known(transaction: Transaction, name: str) -> bool:
    """Tell whether somebody has signed in with an address at a network lately (`network_hash`)."""
    return bool(await transaction.rows(_SQL["is_known"], name, LASTS_S))


def remember(key: bytes, user: User, client: str) -> tuple[Statement, ...]:
    """Return the statements that note from where a user has signed in, under each of his addresses."""
    addresses = [(user.email or "").lower(), user.phone or ""]
    names = [network_hash(key, user.aud or "", address, client) for address in addresses if address]
    return tuple(statement(_SQL["remember"], name, str(user.id), LASTS_S, 2 * MOST) for name in names if name)
