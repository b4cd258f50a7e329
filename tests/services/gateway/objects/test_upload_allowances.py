"""Allowances of uploads: for whom and how long they are used."""

import uuid
from typing import cast

import pytest
from aiohttp import web
from multidict import CIMultiDict

from schemas.blobs import BlobReference, UploadAllowance, UploadGrant
from schemas.http import Request
from services.gateway.objects.upload_allowances import UploadAllowances, allowed_version

ALLOWANCE = UploadAllowance(b"ticket", "b", "a1b2c3-d4e5", 1000, 60.0)
GRANT = UploadGrant(BlobReference("b", str(uuid.uuid4())), 5000, allowance=ALLOWANCE)


class Head:
    """What the search reads of a request."""

    def __init__(self, length: int | None = 1000, **headers: str) -> None:
        self.content_length, self.headers = length, CIMultiDict(headers)


class Allowances(UploadAllowances):
    """Allowances with a clock of their own."""

    def __init__(self) -> None:
        self.time = 0.0
        super().__init__(lambda: self.time)

    def of(self, message: Request, head: Head | None = None) -> UploadAllowance | None:
        return self.find(cast("web.BaseRequest", head or Head()), message)


def upload(path: str = "/object/b/a", caller_key: str = "alice") -> Request:
    return Request("1", "POST", path, caller_key=caller_key)


@pytest.fixture
def allowances() -> Allowances:
    allowances = Allowances()
    allowances.store(upload(), GRANT, 0.0)
    return allowances


def test_it_is_used_for_further_uploads_of_the_caller_to_the_bucket(allowances: Allowances) -> None:
    assert allowances.of(upload()) == allowances.of(upload("/object/b/c/d")) == ALLOWANCE


@pytest.mark.parametrize(
    "message",
    [
        upload(caller_key="bob"),
        upload("/object/c/a"),
        upload("/object/b"),
        upload("/object/b/"),
        upload("/s3/b/a"),
        upload("/b/a"),
        upload(f"/object/{'b' * 1000}/a"),
    ],
)
def test_others_have_none(allowances: Allowances, message: Request) -> None:
    assert allowances.of(message) is None


@pytest.mark.parametrize("head", [Head(None), Head(1001), Head(Expect="100-continue")])
def test_not_for_long_bodies_and_clients_that_wait(allowances: Allowances, head: Head) -> None:
    assert allowances.of(upload(), head) is None


def test_it_ends_with_its_seconds(allowances: Allowances) -> None:
    allowances.time = 59.0
    before = allowances.of(upload())
    allowances.time = 60.0

    assert (before, allowances.of(upload())) == (ALLOWANCE, None)


def test_it_ends_with_a_rejection(allowances: Allowances) -> None:
    allowances.forget(upload("/object/b/other"))

    assert allowances.of(upload()) is None


def test_a_grant_without_one_brings_none() -> None:
    allowances = Allowances()
    allowances.store(upload(), UploadGrant(GRANT.blob, 5000), 0.0)

    assert allowances.of(upload()) is None


def test_versions_are_random_uuids_of_the_series() -> None:
    versions = {allowed_version(ALLOWANCE, 258.9) for _ in range(100)}

    assert len(versions) == 100
    assert all(str(uuid.UUID(version)) == version for version in versions)
    assert {version[:13] for version in versions} == {"02a1b2c3-d4e5"}
    assert {version[14] for version in versions} == {"4"}
