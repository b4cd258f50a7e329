"""`electric-cursor`: a number that clients echo, so that a cache between them and us would not serve an old answer. Pure.

Source: docs/sync.md.
"""

import math
import random

_EPOCH_S = 1_728_432_000.0
"""2024-10-09T00:00Z."""
_MOST_JUMP = 3600
_MOST = 10**12


def next_cursor(sent: str, now: float, interval_s: float, jump: random.Random) -> str:
    """Return the cursor of an answer: the end of the present interval, and always above what the client sent."""
    cursor = math.ceil((now - _EPOCH_S) / interval_s) * math.ceil(interval_s)
    if sent.isascii() and sent.isdigit() and len(sent) <= 12 and cursor <= int(sent) < _MOST:
        cursor = int(sent) + jump.randint(1, _MOST_JUMP)
    return str(cursor)
