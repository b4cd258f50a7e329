"""[api.idempotency]: writes with an `Idempotency-Key` (docs/rest-additions.md, "Idempotency keys")."""

from msgspec import Struct

from schemas.settings.types import Count, Duration, Size

LONGEST_KEEP_S = 7 * 86400
"""Longest storage of a record in the database."""
LARGEST_ANSWER = 16 * 1024 * 1024


class Idempotency(Struct, frozen=True):
    """[api.idempotency]: writes of REST and GraphQL with an `Idempotency-Key` are executed once."""

    enabled: bool = True
    """Off: the header is ignored."""
    keep: Duration = Duration(86400)
    """How long a key and its first response are stored; at most a week."""
    max_answer: Size = Size(1024 * 1024)
    """Bytes of a response that is stored; at most 16 MiB. A repeat of a longer one gets status and headers, no body."""
    max_keys: Count = 100_000
    """Keys of one caller: a user, all clients without a token, all with the secret key. Beyond, a write with a new key gets 429. Each worker
    counts again at least every 10 seconds, so a few more may be stored.
    """
    max_bytes: Size = Size(64 * 1024 * 1024)
    """Bytes of responses that are stored for one caller; beyond, responses are stored without their bodies."""
