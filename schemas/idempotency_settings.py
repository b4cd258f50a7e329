"""[api.idempotency]: writes that carry an `Idempotency-Key` (docs/rest-additions.md, "Idempotency keys")."""

from msgspec import Struct

from schemas.setting_types import Count, Duration, Size

LONGEST_KEEP_S = 7 * 86400
"""The database keeps no record for longer."""
LARGEST_ANSWER = 16 * 1024 * 1024


class Idempotency(Struct, frozen=True):
    """[api.idempotency]: writes of REST and GraphQL that carry an `Idempotency-Key` are carried out once."""

    enabled: bool = True
    """Off: the header is ignored."""
    keep: Duration = Duration(86400)
    """How long a key and its first answer are kept; at most a week."""
    max_answer: Size = Size(1024 * 1024)
    """Bytes of an answer that is kept; at most 16 MiB. Of a longer one a repeat gets status and headers without a body."""
    max_keys: Count = 100_000
    """Keys that are kept for one caller (a user; all clients without a token; all with the secret key). Beyond, a write with a new
    key is answered 429. Each worker counts anew at least every 10 seconds, so that it may be exceeded by a few."""
    max_bytes: Size = Size(64 * 1024 * 1024)
    """Bytes of answers that are kept for one caller; beyond, answers are kept without their bodies."""
