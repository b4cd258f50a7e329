"""Forms of files become deployments that the pool functions takes, and come back; hostile paths and sizes are rejected."""

import base64

import msgspec
import pytest

from schemas.functions.deployments import MOST_FILES, MOST_UNPACKED, SourceFile
from workers.functions.deployments.bundles import Bundle, read_bundle
from workers.management.areas.project.function_bundles import make_bundle, placed, read_contents, read_files
from workers.management.areas.project.multipart import FormPart
from workers.management.interface.errors import ManagementError
from workers.management.operations.functions import DeployedSettings, FunctionFiles
from workers.management.spellings.project_api.function_form import (
    DeployMetadata,
    deployment_of_form,
    form_metadata,
    form_of_files,
)

_ENTRY = "supabase/functions/hello/index.ts"
_METADATA = DeployMetadata(
    f"file://{_ENTRY}",
    "supabase/functions/hello/deno.json",
    ["./supabase/functions/hello/*.html"],
    verify_jwt=False,
)
_FILES = [
    ("supabase/functions/_shared/x.ts", b"export const x = 1;"),
    ("supabase/functions/hello/deno.json", b"{}"),
    ("supabase/functions/hello/picture.png", b"\x89PNG\xff"),
    (_ENTRY, b"Deno.serve(() => new Response());"),
]


def _parts(files: list[tuple[str, bytes]]) -> list[FormPart]:
    return [FormPart("file", content, path) for path, content in files]


def _bundle(files: list[tuple[str, bytes]], metadata: DeployMetadata = _METADATA) -> bytes:
    deployment = deployment_of_form("hello", metadata, _parts(files))
    contents = read_files(deployment.files)
    return make_bundle(
        "hello", deployment.settings, placed("hello", contents, keeps_paths=deployment.keeps_paths)
    )


def _read(files: list[tuple[str, bytes]]) -> Bundle:
    return read_bundle(_bundle(files), "hello")


def test_the_pool_functions_takes_the_bundle() -> None:
    bundle = _read(_FILES)

    assert bundle.files == {path.removeprefix("supabase/"): content for path, content in _FILES}
    settings = bundle.manifest.settings
    assert (settings.entrypoint, settings.import_map) == (
        "functions/hello/index.ts",
        "functions/hello/deno.json",
    )
    assert settings.static_files == ["functions/hello/*.html"]
    assert not settings.verify_jwt


def test_a_function_comes_back_as_its_files() -> None:
    listed = [
        SourceFile(path, len(content), base64=base64.b64encode(content).decode())
        for path, content in read_contents(_bundle(_FILES)).items()
    ]
    settings = DeployedSettings(entrypoint="functions/hello/index.ts")

    parts = form_of_files(FunctionFiles("hello", 1, settings, listed))

    assert form_metadata(parts).entrypoint_path == _ENTRY
    assert [(part.filename, part.content) for part in parts[1:]] == sorted(_FILES)
    assert parts[1].headers[1] == ("Supabase-Path", "supabase/functions/_shared/x.ts")


def test_equal_files_give_equal_bytes() -> None:
    assert _bundle(_FILES[::-1]) == _bundle(_FILES)


def test_files_outside_of_the_usual_folder_keep_their_places() -> None:
    bundle = _read([*_FILES, ("lib/y.ts", b"")])

    assert {"lib/y.ts", _ENTRY} <= set(bundle.files)
    assert bundle.manifest.settings.entrypoint == _ENTRY


@pytest.mark.parametrize(
    "path",
    [
        "../x.ts",
        "supabase/functions/../../x.ts",
        "/etc/passwd",
        "file:///etc/passwd",
        "a\\..\\x.ts",
        "a\0b.ts",
        "a\nb.ts",
        "",
        "x" * 600,
        "supabase/functions/hello/.env",
        "supabase/functions/.env.local",
    ],
)
def test_hostile_paths_are_rejected(path: str) -> None:
    for metadata, files in (
        (_METADATA, [*_FILES, (path, b"")]),
        (msgspec.structs.replace(_METADATA, static_patterns=[path]), _FILES),
        (msgspec.structs.replace(_METADATA, entrypoint_path=path), _FILES),
    ):
        with pytest.raises(ManagementError) as rejected:
            deployment_of_form("hello", metadata, _parts(files))

        assert rejected.value.status == 400


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ([*_FILES, _FILES[0]], 400),
        ([(f"{number}.ts", b"") for number in range(MOST_FILES)], 413),
        ([*_FILES, ("big.bin", b"\0" * MOST_UNPACKED)], 413),
    ],
)
def test_what_cannot_be_deployed_is_rejected(files: list[tuple[str, bytes]], status: int) -> None:
    with pytest.raises(ManagementError) as rejected:
        _bundle(files)

    assert rejected.value.status == status


@pytest.mark.parametrize("data", [b"", b"no archive", _bundle(_FILES)[:200]])
def test_a_stored_bundle_that_cannot_be_read_is_an_error_of_the_server(data: bytes) -> None:
    with pytest.raises(ManagementError) as rejected:
        read_contents(data)

    assert rejected.value.status == 502
