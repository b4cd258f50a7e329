"""[api.idempotency]: writes that carry an `Idempotency-Key` (docs/rest-additions.md, "Idempotency keys")."""

from msgspec import Struct

from schemas.settings.types import Count, Duration, Size

LONGEST_KEEP_S = 7 * 86400
"""The database keeps no record for longer."""
LARGEST_ANSWER = 16 * 1024 * 1024


class Idempotency(Struct, frozen=True):
    """[api.idempotency]: writes of REST and GraphQL that carry an `Idempotency-Key` are carried out once."""

    enabled: bool = True
    """Off: the header is ignored."""
    keep: Duration = Duration(86400)
    """How long a key and its first answer are stored; at most a week."""
    max_answer: Size = Size(1024 * 1024)
    """Bytes of an answer that is stored; at most 16 MiB. A repeat of a longer one gets status and headers, no body."""
    max_keys: Count = 100_000
    """Keys of one caller: a user, all clients without a token, all with the secret key. Beyond, a write with a new key is
    answered 429. Each worker counts again at least every 10 seconds, so a few more may be stored."""
    max_bytes: Size = Size(64 * 1024 * 1024)
    """Bytes of answers that are stored for one caller; beyond, answers are stored without their bodies."""
