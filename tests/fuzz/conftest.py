"""The budget of a fuzzer, and the platform that those share which send requests.

`FUZZ_MINUTES` is the time of a long run for all selected fuzzers together, `FUZZ_SEED` a seed other than the usual one; `make
fuzz` sets both.
"""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.core import Budget
from tests.fuzz.wire import Health, Wire
from tests.platform import Platform, platform

S3_ID, S3_SECRET = "fuzzed-access-key", "the secret of the fuzzed pair"
_SEED = 14
_FIXTURE = "budget"
_REPLAY_S = 300
_SHORT_PART = 0.3
"""Which part of a fuzzer's cases `make test` tries; its corpus is replayed whole."""


def _minutes() -> float | None:
    text = os.environ.get("FUZZ_MINUTES")
    return float(text) if text else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Divide the time of a long run, and let each fuzzer have its part of it."""
    minutes = _minutes()
    fuzzers = [item for item in items if _FIXTURE in getattr(item, "fixturenames", ())]
    seconds = None if minutes is None else minutes * 60 / max(len(fuzzers), 1)
    for item in fuzzers:
        item.user_properties.append((_FIXTURE, seconds))
        item.add_marker(pytest.mark.timeout((seconds or 0) + _REPLAY_S))


@pytest.fixture
def budget(request: pytest.FixtureRequest) -> Budget:
    """How long this fuzzer looks, and from which seed."""
    seconds = dict(request.node.user_properties).get(_FIXTURE)
    seed = os.environ.get("FUZZ_SEED")
    if not seed:
        seed = str(secrets.randbelow(2**32)) if seconds is not None else str(_SEED)
    return Budget(int(seed), seconds, _SHORT_PART if request.config.getoption("without_long") else 1.0)


@pytest.fixture(scope="package")
def fuzzed() -> Iterator[Platform]:
    """A running platform with tables of every kind, functions, buckets, and secrets planted in them."""
    with platform(
        environment={"S3_PROTOCOL_ACCESS_KEY_ID": S3_ID, "S3_PROTOCOL_ACCESS_KEY_SECRET": S3_SECRET}
    ) as running:
        done = running.command("psql", "-f", str(Path(__file__).parent / "fuzz.sql"))
        assert done.returncode == 0, done.stderr
        running.wait_for_catalog("known")
        yield running


@pytest.fixture
def wire(fuzzed: Platform) -> Iterator[Wire]:
    """A connection to the platform; afterwards its processes are the same, and it logged no defect."""
    health, one = Health(fuzzed), Wire(fuzzed)
    one.ask("service", "POST", "/rest/v1/rpc/tidied", {})
    yield one
    one.close()
    print(f"answers by status: {dict(sorted(one.statuses.items()))}")
    health.check()
