"""Errors of other pools as errors of the management interface."""

import msgspec
import pytest

from schemas.http import Response
from schemas.settings.functions import EdgeRuntime
from schemas.settings.storage import Storage as StorageSettings
from schemas.settings.tree import Settings
from workers.management.interface.backends.platform_pools import check_is_on, pools_off
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

    assert pools_off(Settings()) == frozenset()
    assert pools_off(settings) == {"storage", "images", "functions"}
    with pytest.raises(ManagementError) as raised:
        check_is_on("functions", settings)
    assert (raised.value.status, raised.value.hint) == (409, "Set edge_runtime.enabled.")
