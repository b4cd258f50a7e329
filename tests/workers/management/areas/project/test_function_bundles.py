"""Bundles made of what administrators send, and the differences between files."""

import base64
import contextlib
import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.functions.deployments import MOST_UNPACKED
from tests.fuzz.mutate import near
from workers.functions.deployments.bundles import read_bundle
from workers.management.areas.project.function_bundles import (
    FunctionFile,
    differences,
    make_bundle,
    placed,
    read_files,
    read_zip,
)
from workers.management.interface.errors import ManagementError

_PATHS = st.from_regex(r"[a-z_]{1,8}(/[a-z_]{1,8}){0,2}\.ts", fullmatch=True)


def _zip(*members: tuple[str, bytes]) -> str:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for name, content in members:
            packed.writestr(name, content)
    return base64.b64encode(archive.getvalue()).decode()


@given(st.dictionaries(_PATHS, st.binary(max_size=100), min_size=1, max_size=5))
def test_the_pool_reads_the_files_that_were_sent(contents: dict[str, bytes]) -> None:
    bundle = read_bundle(make_bundle("hello", {"verify_jwt": False}, placed("hello", contents)), "hello")

    assert bundle.files == {f"functions/hello/{path}": content for path, content in contents.items()}
    assert bundle.manifest.settings.verify_jwt is False


def test_paths_of_the_whole_folder_stay() -> None:
    contents = {"functions/hello/index.ts": b"1", "functions/_shared/a.ts": b"2"}

    assert read_bundle(make_bundle("hello", {}, placed("hello", contents)), "hello").files == contents


@given(st.text(max_size=20) | st.sampled_from([".env", "a/.env.local", ".envrc", "functions/.env"]))
def test_any_path_is_bundled_as_it_is_or_refused(path: str) -> None:
    try:
        data = make_bundle("hello", {}, placed("hello", {path: b"x"}))
    except ManagementError:
        return
    assert list(read_bundle(data, "hello").files) in ([path], [f"functions/hello/{path}"])


def _methods() -> list[bytes]:
    """Return an archive of each method of compression; LZMA names the memory that it takes, up to 4 GiB."""
    archives = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", method) as made:
            made.writestr("index.ts", b"x" * 1000)
            made.writestr("a/b.ts", b"y")
        archives.append(packed.getvalue())
    return archives


@given(near(_methods()) | st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_an_archive_or_refused(data: bytes) -> None:
    with contextlib.suppress(ManagementError):
        assert sum(map(len, read_zip(base64.b64encode(data).decode()).values())) <= MOST_UNPACKED


@pytest.mark.parametrize("archive", _methods()[2:])
def test_methods_that_take_much_memory_are_refused(archive: bytes) -> None:
    with pytest.raises(ManagementError, match="stored or deflated"):
        read_zip(base64.b64encode(archive).decode())


def test_an_archive_that_lies_about_its_size_is_refused() -> None:
    archive = bytearray(base64.b64decode(_zip(("index.ts", b"x" * 1000))))
    size = (1000).to_bytes(4, "little")
    while (at := archive.rfind(size)) >= 0:
        archive[at : at + 4] = (10).to_bytes(4, "little")

    with pytest.raises(ManagementError):
        read_zip(base64.b64encode(archive).decode())


@pytest.mark.parametrize(
    "files",
    [
        [FunctionFile("a.ts")],
        [FunctionFile("a.ts", "x", "eA==")],
        [FunctionFile("a.ts", "x"), FunctionFile("a.ts", "y")],
        [FunctionFile("a.ts", base64="?")],
        [FunctionFile("a.ts", "\ud800")],
    ],
)
def test_files_that_are_none_are_refused(files: list[FunctionFile]) -> None:
    with pytest.raises(ManagementError):
        read_files(files)


def test_differences_name_what_was_added_removed_and_changed() -> None:
    before = {"a": b"one\n", "b": b"same", "c": b"gone", "d": b"\xff"}
    after = {"a": b"two\n", "b": b"same", "e": b"new", "d": b"\xfe"}

    found = {file.path: (file.change, file.difference) for file in differences(before, after)}

    assert found["a"] == ("changed", "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n")
    assert (found["c"][0], found["e"][0], found["d"]) == ("removed", "added", ("changed", None))
    assert "b" not in found


def test_very_long_files_are_not_compared_line_by_line() -> None:
    [file] = differences({"a": b"x\n" * 3000}, {"a": b"y\n" * 3000})

    assert (file.change, file.difference) == ("changed", None)
