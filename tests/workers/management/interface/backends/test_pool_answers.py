"""Errors of other pools as errors of the management interface."""

import msgspec
import pytest

from schemas.http import Response
from schemas.settings.functions import EdgeRuntime
from schemas.settings.reading import load_settings
from schemas.settings.storage import Storage as StorageSettings
from schemas.settings.tree import Settings
from services.supervisor.processes.plan import POOLS, _is_on
from workers.management.interface.backends.platform_pools import _SWITCHES, check_is_on, pools_off
from workers.management.interface.backends.pool_answers import check_answer, path_part, path_tail
from workers.management.interface.errors import ManagementError


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, b'{"statusCode":"404","error":"not_found","message":"Bucket not found"}', (404, "not_found", "Bucket not found")),
        (422, b'{"code":"DEPLOY_REFUSED","message":"no"}', (422, "DEPLOY_REFUSED", "no")),
        (401, b'{"message":"x"}', (502, "rejected", "x")),
        (500, b"\xff", (500, "rejected", "The pool answered 500")),
        (400, b'{"statusCode":"9999","message":"x"}', (400, "rejected", "x")),
    ],
)  # fmt: skip
def test_an_error_keeps_its_meaning(status: int, body: bytes, expected: tuple[int, str, str]) -> None:
    with pytest.raises(ManagementError) as raised:
        check_answer(Response(status, body=body))

    assert (raised.value.status, raised.value.code, str(raised.value)) == expected


def test_a_success_is_none() -> None:
    check_answer(Response(204))


def test_names_stay_one_part_of_a_path() -> None:
    assert path_part("../a b?#/") == "..%2Fa%20b%3F%23%2F"
    assert path_tail("a/b?c") == "a/b%3Fc"


def test_pools_that_are_switched_off_are_named() -> None:
    settings = msgspec.structs.replace(
        Settings(),
        storage=StorageSettings(enabled=False),
        edge_runtime=EdgeRuntime(enabled=False),
    )

    assert pools_off(Settings()) == {"streams": "streams"}
    assert pools_off(settings) == {
        "streams": "streams",
        "storage": "storage.enabled",
        "images": "storage.enabled",
        "functions": "edge_runtime.enabled",
    }
    with pytest.raises(ManagementError) as raised:
        check_is_on("functions", settings)
    assert (raised.value.status, raised.value.hint) == (409, "Set edge_runtime.enabled.")


@pytest.mark.parametrize("key", sorted({key for keys in _SWITCHES.values() for key in keys} - {"streams"}))
def test_a_pool_is_off_where_the_supervisor_does_not_start_it(key: str) -> None:
    settings, _ = load_settings(_config(key), {})

    off = pools_off(settings)
    del off["streams"]  # off without a stream, whatever the switches say

    assert off == {pool: key for pool in POOLS if pool != "streams" and not _is_on(pool, settings)}


def _config(key: str) -> bytes:
    """Return a configuration with one switch off."""
    section, _, name = key.rpartition(".")
    return f"[{section}]\n{name} = false\n".encode()
