"""The statements that a keyed write has besides its own. Pure.

The functions of schema `headwater` may be called by the login of the data pools alone, so the transaction leaves the caller's
role for them and takes it again. Which role that is is asked of the transaction itself: a function may have changed it. No code of
the project runs in between, and no statement here names anything that is looked up in a search path.
"""

from workers.database.session import Statement

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
"""Which of the first statements claims the key, and how many stand before the write's own."""


def claim(slot: bytes) -> list[Statement]:
    """Return the statements that reserve a key, before anything else of the transaction."""
    return [_AS_LOGIN, Statement(_CLAIM, [_hex(slot)]), _AS_CALLER]


def keep(slot: bytes, caller: bytes, sealed: bytes, keep_s: float, *, counts: bool) -> list[Statement]:
    """Return the statements that store the answer; `counts`: the one before the last counts the caller's records."""
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
