"""How long refusals take for addresses that somebody has, and for those that nobody has: `python -m tests.bench.auth_timing [N]`.

A platform of its own with default settings but for rate limits. Requests for the kinds of addresses alternate in random
order, so that load from elsewhere meets all of them alike. Printed are medians, and the chance that a known address took
longer than an unknown one (the area under the curve: 0.50 is no difference; its standard error stands beside it).
"""

import random
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator

from tests.attacks.client import send
from tests.platform import Platform, platform

_UNLIMITED = {
    f"HEADWATER_AUTH_RATE_LIMIT_{name}": "0"
    for name in ("TOKEN_REFRESH", "SIGN_IN_SIGN_UPS", "TOKEN_VERIFICATIONS", "EMAIL_SENT")
} | {"HEADWATER_AUTH_EMAIL_MAX_FREQUENCY": "0s"}
_KINDS = ("known", "unknown")


def main(rounds: int) -> None:
    """Measure and print."""
    with platform(environment=_UNLIMITED) as target:
        for name, ask in (("wrong password", _password), ("wrong code", _code)):
            times = _measured(target, ask, rounds)
            known, unknown = (times[kind] for kind in _KINDS)
            area = _area(known, unknown)
            error = ((len(known) + len(unknown) + 1) / (12 * len(known) * len(unknown))) ** 0.5
            medians = ", ".join(f"{kind} {statistics.median(times[kind]):.2f} ms" for kind in _KINDS)
            print(f"{name}: median {medians}; longer for known {area:.3f} +- {error:.3f} ({rounds} of each)")


def _measured(target: Platform, ask: Callable[[Platform, str], None], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    for kind, email in _addresses(target, rounds):
        began = time.perf_counter()
        ask(target, email)
        times[kind].append((time.perf_counter() - began) * 1000)
    return times


def _addresses(target: Platform, rounds: int) -> Iterator[tuple[str, str]]:
    """Give addresses in random order; a known one has a password, and a code on its way. Each is asked about five times."""
    for _ in range(rounds // 5):
        known, unknown = (f"{uuid.uuid4().hex}@example.com" for _ in _KINDS)
        assert (
            send(target, "POST", "/auth/v1/signup", {"email": known, "password": "over the river"}).status
            == 200
        )
        assert send(target, "POST", "/auth/v1/magiclink", {"email": known}).status == 200
        asked = [("known", known), ("unknown", unknown)] * 5
        random.shuffle(asked)
        yield from asked


def _password(target: Platform, email: str) -> None:
    body = {"email": email, "password": "not that one"}
    assert send(target, "POST", "/auth/v1/token?grant_type=password", body).status == 400


def _code(target: Platform, email: str) -> None:
    body = {"type": "magiclink", "email": email, "token": "000000"}
    assert send(target, "POST", "/auth/v1/verify", body).status == 403


def _area(left: list[float], right: list[float]) -> float:
    """Give the share of pairs in which the left one is larger."""
    larger = sum((a > b) + (a == b) / 2 for a in left for b in right)
    return larger / (len(left) * len(right))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
