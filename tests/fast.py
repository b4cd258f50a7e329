"""The fast run (`make test-fast`): pure steps and one database; what needs a server of another kind is skipped."""

import os
from collections.abc import Iterable

import pytest

FAST = "TESTS_FAST"
"""Environment variable that is set in a fast run."""


def is_fast_run() -> bool:
    """Return whether this is a fast run."""
    return bool(os.environ.get(FAST))


def skip_in_fast_run(started: str) -> None:
    """Skip the test that is about to start something, if this is a fast run."""
    if is_fast_run():
        pytest.skip(f"the fast run starts no {started}")


_OF_SERVERS = frozenset({
    "migrated_server", "whole_storage_pool", "bootstrapped", "nats", "own_nats", "lonely_nats", "nats_server", "cluster", "project_server",
    "realtime_pool", "sync_pool", "replication_pool", "own_replication_pool", "platform_server", "managed", "metadata_server", "whole_auth_pool",
    "worker",
})  # fmt: skip
"""Fixtures that start what the fast run does not. Their tests are left out before they begin, which spares a millisecond or two each;
what is not named here is skipped by `skip_in_fast_run`.
"""
_DEAR = frozenset(
    {
        "tests/broker/blobs/test_short_log_recovery.py",
        "tests/broker/blobs/test_store.py::test_a_long_stream_takes_little_memory",
        "tests/broker/jetstream/test_stream_watch.py",
        "tests/broker/logs/test_store.py::test_a_cursor_far_behind_is_told_of_the_gap",
        "tests/broker/logs/test_store.py::test_pages_hold_exactly_the_matching_lines_newest_first",
        "tests/schemas/extensions/test_compiled.py",
        "tests/schemas/settings/test_process_environment.py",
        "tests/services/certificates/test_renewal_info.py",
        "tests/workers/database/protocol/test_long_value.py",
        "tests/workers/database/protocol/test_postgres_connection.py::test_a_cell_of_a_hundred_megabytes_arrives_whole",
        "tests/workers/database/test_introspect_scale.py",
        "tests/workers/functions/test_placeholder.py",
        "tests/workers/graphql/plan/test_operation.py::test_the_objects_of_a_filter_in_variables_are_bounded",
        "tests/workers/graphql/test_definition.py::test_a_get_gives_the_schema_in_the_definition_language",
        "tests/workers/management/interface/test_openapi.py",
        "tests/workers/rest/openapi/test_document31.py",
        "tests/workers/rest/test_live_reads_of_cases.py",
        "tests/workers/sync/test_pending.py::test_a_stalled_database_costs_bounded_memory_and_the_last_transactions_are_named",
        "tests/workers/storage/s3/protocol/test_sigv4.py::test_one_changed_part_of_a_valid_request_is_refused_or_means_the_same",
    }
)
"""Modules and tests that take half a second and more each: `make test` has them."""


def runs_in_fast_run(nodeid: str, fixtures: Iterable[str]) -> bool:
    """Return whether a test belongs to the fast run."""
    test = nodeid.partition("[")[0]
    return _OF_SERVERS.isdisjoint(fixtures) and _DEAR.isdisjoint((test, test.partition("::")[0]))
