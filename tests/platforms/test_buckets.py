"""Buckets of config.toml: made, changed and filled when the platform starts, and nothing twice."""

import json
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from schemas.settings.storage import Bucket
from schemas.settings.types import Size
from services.supervisor.project.buckets import load_buckets
from tests.platform import Platform, free_port, platform


class Notes:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.warnings: list[str] = []

    def info(self, line: str) -> None:
        self.lines.append(line)

    def warn(self, line: str) -> None:
        self.warnings.append(line)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        raise AssertionError


async def load(running_platform: Platform, folder: Path, **buckets: Bucket) -> Notes:
    notes = Notes()
    url = f"http://127.0.0.1:{running_platform.port}"
    await load_buckets(buckets, url, running_platform.values["SERVICE_ROLE_KEY"], folder, notes)
    return notes


def asked(running_platform: Platform, path: str, body: object = None) -> Any:
    key = running_platform.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "authorization": f"Bearer {key}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{running_platform.url}/storage/v1/{path}", data, headers), timeout=30) as answer:
        return json.loads(answer.read())


def changed(running_platform: Platform, method: str, path: str, body: object) -> None:
    key = running_platform.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "authorization": f"Bearer {key}", "content-type": "application/json"}
    request = Request(
        f"{running_platform.url}/storage/v1/{path}", json.dumps(body).encode(), headers, method=method
    )
    with urlopen(request, timeout=30) as answer:
        assert answer.status == 200


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.png").write_bytes(b"picture")
    (tmp_path / "in" / "deep" / "é [1].txt").write_bytes(b"text")
    return tmp_path


async def test_bucket_is_made_and_filled_once(running_platform: Platform, files: Path) -> None:
    bucket = Bucket(public=True, file_size_limit=Size("1MiB"), objects_path="in", quota=Size("2MiB"))

    first = await load(running_platform, files, loaded=bucket)
    second = await load(running_platform, files, loaded=bucket)

    assert first.warnings == second.warnings == []
    assert first.lines == ["Bucket loaded: made, 2 files: 2 uploaded"]
    assert second.lines == ["Bucket loaded: 2 files: 2 there already"]
    found = asked(running_platform, "bucket/loaded")
    assert (found["public"], found["file_size_limit"]) == (True, 1024 * 1024)
    assert asked(running_platform, "bucket/loaded/size")["quota"] == 2 * 1024 * 1024
    with urlopen(f"{running_platform.url}/storage/v1/object/public/loaded/a.png", timeout=30) as answer:
        assert (answer.read(), answer.headers["content-type"]) == (b"picture", "image/png")
    listed = asked(running_platform, "object/list/loaded", {"prefix": "", "recursive": True})
    assert [each["name"] for each in listed] == ["a.png", "deep/é [1].txt"]


def status_of(url: str) -> int:
    try:
        with urlopen(url, timeout=30) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


async def test_public_object_changes_at_once_for_those_who_just_read_it(
    running_platform: Platform, files: Path
) -> None:
    await load(running_platform, files, read=Bucket(public=True, objects_path="in"))
    url = f"{running_platform.url}/storage/v1/object/public/read/a.png"

    def content() -> bytes:
        with urlopen(url, timeout=30) as answer:
            return bytes(answer.read())

    assert [content(), content()] == [b"picture", b"picture"]
    for number in range(20):
        (files / "in" / "a.png").write_bytes(f"{number}".encode())
        await load(running_platform, files, read=Bucket(public=True, objects_path="in"))
        assert [content(), content()] == [f"{number}".encode()] * 2
    changed(running_platform, "PUT", "bucket/read", {"public": False})
    assert status_of(url) == 400
    changed(running_platform, "PUT", "bucket/read", {"public": True})
    assert status_of(url) == 200
    changed(running_platform, "DELETE", "object/read/a.png", {})
    assert status_of(url) == 400


async def test_public_object_that_sql_deletes_is_gone_after_the_stated_time(
    running_platform: Platform, files: Path
) -> None:
    await load(running_platform, files, sql=Bucket(public=True, objects_path="in"))
    url = f"{running_platform.url}/storage/v1/object/public/sql/a.png"
    assert status_of(url) == 200

    running_platform.psql(
        "set storage.allow_delete_query = 'true'; delete from storage.objects where bucket_id = 'sql'"
    )

    deadline = time.monotonic() + 60
    while status_of(url) == 200:
        assert time.monotonic() < deadline


async def test_only_what_differs_is_uploaded_and_changed(running_platform: Platform, files: Path) -> None:
    await load(running_platform, files, changing=Bucket(objects_path="in"))
    (files / "in" / "a.png").write_bytes(b"another")  # of the same length
    (files / "in" / "new").write_bytes(b"new")

    told = await load(
        running_platform,
        files,
        changing=Bucket(
            objects_path="in", allowed_mime_types=["image/*", "text/*", "application/*"], public=True
        ),
    )

    assert told.lines == [
        "Bucket changing: changed (public, allowed_mime_types), 3 files: 2 uploaded, 1 there already"
    ]
    with urlopen(f"{running_platform.url}/storage/v1/object/public/changing/a.png", timeout=30) as answer:
        assert answer.read() == b"another"


async def test_what_goes_wrong_is_a_warning_and_the_rest_goes_on(
    running_platform: Platform, files: Path
) -> None:
    told = await load(
        running_platform,
        files,
        **{
            "no/name": Bucket(),
            "pictures": Bucket(objects_path="in", allowed_mime_types=["image/*"]),
            "empty": Bucket(objects_path="nowhere"),
        },
    )

    assert told.lines == ["Bucket pictures: made, 2 files: 1 uploaded, 1 refused"]
    assert told.warnings == [
        "[storage.buckets.no/name]: Bucket name invalid",
        "[storage.buckets.pictures]: deep/é [1].txt was not uploaded: mime type text/plain is not supported",
        "[storage.buckets.empty]: nowhere cannot be read: No such file or directory",
    ]


async def test_storage_that_is_not_there_is_a_warning(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.supervisor.project.buckets._PAUSE_S", 0.0)
    notes = Notes()

    await load_buckets({"a": Bucket()}, f"http://127.0.0.1:{free_port()}", "key", files, notes)

    assert notes.lines == []
    assert notes.warnings[0].startswith("[storage.buckets.a]: the storage does not answer")


def test_start_loads_the_buckets_of_the_project(files: Path) -> None:
    files.chmod(0o755)
    config = files / "supabase" / "config.toml"
    config.parent.mkdir()
    (files / "in").rename(config.parent / "images")
    config.write_text('[storage.buckets.images]\npublic = true\nobjects_path = "./images"\n')

    with platform("--config", str(config)) as one:
        with urlopen(f"{one.url}/storage/v1/object/public/images/a.png", timeout=30) as answer:
            assert answer.read() == b"picture"
        log = (one.data / "logs" / "supervisor.log").read_text()
        assert "Bucket images: made, 2 files: 2 uploaded" in log
        assert one.values["SERVICE_ROLE_KEY"] not in log
