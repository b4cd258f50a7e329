"""The key of a caller for the fair queue of the workers (`broker/requests/fair_queue.py`): the key by which requests of one caller are known together.

- A user, by issuer and `sub` of its verified token: users behind one address (NAT) have a share each, and a user with many
  sessions or addresses has one.
- Other callers, by what they are, the API key and the client's address: a flood from many addresses under the public key takes the
  share of each of these addresses and no more; servers with the secret key have a share each. An IPv6 address counts with its /64
  network, for a client has all of that. Only a key that was verified counts, or a client could make up as many as it likes.

Keys are short hashes: they travel with every request, and show neither an API key nor a user.
"""

import hashlib
from collections.abc import Callable

import msgspec

from schemas.caller import Caller, UserCaller
from schemas.client_networks import client_network

_CACHED = 10_000


class _Claims(msgspec.Struct):
    sub: str = ""
    iss: str = ""


_decode = msgspec.json.Decoder(_Claims).decode


class CallerKeys:
    """Makes the keys; those made recently are cached."""

    def __init__(self) -> None:
        self._users: dict[bytes, str] = {}
        self._others: dict[tuple[str, str, str], str] = {}

    def key_of(self, caller: Caller, api_key: str | None, address: Callable[[], str]) -> str:
        """Return the key of a caller. `api_key` is a verified one; `address` is called where the address matters."""
        if isinstance(caller, UserCaller):
            key = self._users.get(caller.claims)
            if key is None:
                key = self._learn_user(caller.claims)
            if key:
                return key
        other = (type(caller).__name__, api_key or "", address())
        return self._others.get(other) or self._learn_other(other)

    def _learn_user(self, claims: bytes) -> str:
        """Return the key of a user, empty for a token that names none."""
        try:
            named = _decode(claims)
        except (msgspec.DecodeError, UnicodeDecodeError):  # the subject is not a text
            named = _Claims()
        key = _hash("user", named.iss, named.sub) if named.sub else ""
        if len(self._users) >= _CACHED:
            self._users.clear()
        self._users[claims] = key
        return key

    def _learn_other(self, other: tuple[str, str, str]) -> str:
        kind, api_key, address = other
        key = _hash(kind, api_key, client_network(address))
        if len(self._others) >= _CACHED:
            self._others.clear()
        self._others[other] = key
        return key


def _hash(*parts: str) -> str:
    text = "\0".join(parts).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()
