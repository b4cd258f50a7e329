"""When a delivery that failed is tried again. Pure.

The pauses grow as standardwebhooks.com proposes ("Deliverability and reliability"), so that a receiver that restarts has its events within
seconds and one that is away for days is not flooded. Up to a fifth is added at random: deliveries that failed together come back apart.
"""

from typing import Literal

from msgspec import Struct

from workers.http_client.retry_after import requested_pause_s

_PAUSES_S = (5.0, 30.0, 120.0, 600.0, 1800.0, 7200.0, 18000.0, 36000.0)
_JITTER = 0.2
_GONE = 410

DeliveryState = Literal["waiting", "delivered", "failed"]


class AttemptOutcome(Struct, frozen=True):
    """What an attempt means: the state of the delivery, in how many seconds it is tried again, and whether the receiver is gone for good."""

    state: DeliveryState
    wait_s: float = 0.0
    is_gone: bool = False


def outcome_of(
    status: int | None, retry_after: str, attempts: int, age_s: float, retry_for_s: float, chance: float
) -> AttemptOutcome:
    """Return the outcome of an attempt.

    `status` is None without an answer; `retry_after` the header of that name; `attempts` were made before; the delivery is `age_s`
    old; `chance` is a random number from 0 to 1. Any status from 200 to 299 is a success, a redirect is none.
    """
    if status is not None and 200 <= status < 300:
        return AttemptOutcome("delivered")
    if status == _GONE:
        return AttemptOutcome("waiting", _PAUSES_S[-1], is_gone=True)
    wait_s = _PAUSES_S[min(attempts, len(_PAUSES_S) - 1)] * (1 + _JITTER * chance)
    wait_s = max(wait_s, requested_pause_s(status, retry_after))
    if age_s + wait_s > retry_for_s:
        return AttemptOutcome("failed")
    return AttemptOutcome("waiting", wait_s)
