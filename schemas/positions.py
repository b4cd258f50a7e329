"""Positions in the log of Postgres, and the token that carries the position of a caller's write. Pure.

A position (LSN) is a number of bytes; Postgres writes it as two hexadecimal numbers, `16/B374D848`. The token of the header
`Headwater-Position` is `<position in hexadecimal>.<milliseconds>`: after these milliseconds every replica that may be read
contains the write. Clients do not read it. `x` in place of the position says that a caller wrote, and that the position is unknown.

`Headwater-Txid` is the id of the transaction that wrote, 32 bits in decimal: what `select pg_current_xact_id()::xid` gives inside of it,
and what changes of `/sync/v1` carry in `headers.txids`. Source: docs/rest-additions.md, "Which transaction wrote".
"""

from msgspec import Struct

from schemas.numbers import parse_hex_number, parse_whole_number

POSITION = "headwater-position"
"""Header of a response to a write; a client, or the gateway for it, sends it back with a read that must see the write."""
TRANSACTION_ID = "headwater-txid"
"""Header of a response to a request that wrote; absent where nothing was written, or all was rolled back."""
UNREACHABLE = 2**64 - 1
"""Position of a write whose position is unknown, or of a token that cannot be read: no replica ever contains it."""

_MOST_HALF = 2**32 - 1
_MOST_WINDOW_MS = 60_000
_PAGE, _PAGE_HEADER = 8192, 24
"""Bytes of a page of the log, and of its header. Source: xlog_internal.h, XLogPageHeaderData."""


class CallerPosition(Struct, frozen=True, tag="caller-position"):
    """A caller wrote: `token` is its position, `caller_key` that of its requests (`Request.caller_key`)."""

    caller_key: str
    token: str


class ReplicaFacts(Struct, frozen=True):
    """A read replica, for `headwater doctor`; `fault`: why it cannot be read, empty if it can; `behind_bytes`: of the log that it has to replay."""

    name: str
    fault: str
    behind_bytes: int = 0


def parse_lsn(text: str) -> int:
    """Return the position of the server's text. Raises: ValueError."""
    high, _, low = text.partition("/")
    upper, lower = parse_hex_number(high, most=_MOST_HALF), parse_hex_number(low, most=_MOST_HALF)
    if upper is None or lower is None:
        raise ValueError(f"not a position of the log: {text}")
    return upper << 32 | lower


def end_of_records(position: int) -> int:
    """Return the end of the last record before an insert position.

    If a record ends with its page, the insert position lies behind the header of the next page, and the replay position before it:
    a replica that has replayed everything would seem to be 24 bytes behind until the next record.
    """
    return position - _PAGE_HEADER if position % _PAGE == _PAGE_HEADER else position


def position_token(position: int | None, window_s: float) -> str:
    """Return the token of a write; `window_s`: how far behind a replica may be; None: the position is unknown."""
    return f"{'x' if position is None else format(position, 'x')}.{round(window_s * 1000)}"


def read_position(token: str) -> int:
    """Return the position of a token, `UNREACHABLE` for one that cannot be read: its reads go to the primary."""
    position = parse_hex_number(token.partition(".")[0], most=UNREACHABLE)
    return UNREACHABLE if position is None else position


def read_window_s(token: str) -> float:
    """Return the seconds for which a token matters, at most 60."""
    window = parse_whole_number(token.partition(".")[2], most=_MOST_WINDOW_MS)
    return _MOST_WINDOW_MS / 1000 if window is None else window / 1000
