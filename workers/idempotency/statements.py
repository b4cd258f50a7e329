"""Additional statements of the transaction of a keyed write. Pure.

Only the login of the data pools may call the functions of schema `headwater`, so the transaction switches from the caller's role
to the login's and back. The caller's role is read from the transaction itself, because a function may have changed it. No code of
the project runs in between, and all names are schema-qualified.
"""

from workers.database.transactions.model import Statement

_AS_LOGIN = Statement(
    "select pg_catalog.set_config('headwater.role', pg_catalog.current_setting('role'), true), "
    "pg_catalog.set_config('role', 'none', true)"
)
_AS_CALLER = Statement(
    "select pg_catalog.set_config('role', pg_catalog.current_setting('headwater.role'), true)"
)
_CLAIM = "select headwater.claim_idempotency_key($1::pg_catalog.bytea)"
_KEEP = (
    "select headwater.keep_idempotent_answer("
    "$1::pg_catalog.bytea, $2::pg_catalog.bytea, $3::pg_catalog.bytea, $4::pg_catalog.float8)"
)
_READ = "select headwater.idempotent_answer($1::pg_catalog.bytea)"
_COUNT = "select keys, bytes from headwater.idempotency_usage($1::pg_catalog.bytea)"
_SWEEP = "select headwater.sweep_idempotent_answers($1::pg_catalog.int4)"

CLAIM_AT, CLAIMING = 1, 3
"""Index of the statement that claims the key, and number of statements before the write's own."""


def claim(slot: bytes) -> list[Statement]:
    """Return the statements that claim a key; they come first in the transaction."""
    return [_AS_LOGIN, Statement(_CLAIM, [_hex(slot)]), _AS_CALLER]


def keep(slot: bytes, caller: bytes, sealed: bytes, keep_s: float, *, counts: bool) -> list[Statement]:
    """Return the statements that store the response; with `counts`, the one before the last counts the caller's records."""
    values = [_hex(slot), _hex(caller), _hex(sealed), str(float(keep_s)).encode()]
    return [_AS_LOGIN, Statement(_KEEP, values), *([count(caller)] if counts else []), _AS_CALLER]


def read(slot: bytes) -> Statement:
    """Return the statement that reads a record, in binary."""
    return Statement(_READ, [_hex(slot)], frozenset({0}))


def count(caller: bytes) -> Statement:
    """Return the statement that counts a caller's records and their bytes."""
    return Statement(_COUNT, [_hex(caller)])


def sweep(most: int) -> Statement:
    """Return the statement that deletes expired records, and counts them."""
    return Statement(_SWEEP, [str(most).encode()])


def _hex(data: bytes) -> bytes:
    return b"\\x" + data.hex().encode()
