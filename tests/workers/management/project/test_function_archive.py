"""Files of a function become a bundle that the pool functions takes, and come back; hostile paths and sizes are refused."""

import msgspec
import pytest

from schemas.functions.deployments import MOST_FILES, MOST_UNPACKED
from workers.functions.deployments.bundles import read_bundle
from workers.management.errors import ManagementError
from workers.management.project.function_archive import (
    FunctionSource,
    FunctionSourceFile,
    files_of_bundle,
    make_bundle,
)

_ENTRY = "supabase/functions/hello/index.ts"
_SOURCE = FunctionSource(
    "hello",
    _ENTRY,
    [
        FunctionSourceFile("supabase/functions/_shared/x.ts", b"export const x = 1;"),
        FunctionSourceFile("supabase/functions/hello/deno.json", b"{}"),
        FunctionSourceFile(_ENTRY, b"Deno.serve(() => new Response());"),
    ],
    "supabase/functions/hello/deno.json",
    ["supabase/functions/hello/*.html"],
    verify_jwt=False,
)


def test_the_pool_functions_takes_the_bundle() -> None:
    bundle = read_bundle(make_bundle(_SOURCE), "hello")

    assert set(bundle.files) == {
        "functions/_shared/x.ts",
        "functions/hello/deno.json",
        "functions/hello/index.ts",
    }
    settings = bundle.manifest.settings
    assert (settings.entrypoint, settings.import_map) == (
        "functions/hello/index.ts",
        "functions/hello/deno.json",
    )
    assert settings.static_files == ["functions/hello/*.html"]
    assert not settings.verify_jwt


def test_a_bundle_comes_back_as_its_files() -> None:
    assert files_of_bundle(make_bundle(_SOURCE)) == _SOURCE


def test_equal_files_give_equal_bytes() -> None:
    turned = msgspec.structs.replace(_SOURCE, files=_SOURCE.files[::-1])

    assert make_bundle(turned) == make_bundle(_SOURCE)


def test_files_outside_of_the_usual_folder_keep_their_places() -> None:
    outside = msgspec.structs.replace(_SOURCE, files=[*_SOURCE.files, FunctionSourceFile("lib/y.ts", b"")])

    bundle = read_bundle(make_bundle(outside), "hello")

    assert {"lib/y.ts", _ENTRY} <= set(bundle.files)
    assert bundle.manifest.settings.entrypoint == _ENTRY


@pytest.mark.parametrize(
    "path",
    [
        "../x.ts",
        "supabase/functions/../../x.ts",
        "/etc/passwd",
        "a\\..\\x.ts",
        "a\0b.ts",
        "a\nb.ts",
        "",
        "x" * 600,
        "supabase/functions/hello/.env",
        "supabase/functions/.env.local",
    ],
)
def test_hostile_paths_are_refused(path: str) -> None:
    for hostile in (
        msgspec.structs.replace(_SOURCE, files=[*_SOURCE.files, FunctionSourceFile(path, b"")]),
        msgspec.structs.replace(_SOURCE, static_files=[path]),
        msgspec.structs.replace(_SOURCE, entrypoint=path),
    ):
        with pytest.raises(ManagementError) as refused:
            make_bundle(hostile)

        assert refused.value.status == 400


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"name": "../hello"}, 400),
        ({"name": "_internal"}, 400),
        ({"entrypoint": "supabase/functions/other/index.ts"}, 400),
        ({"files": [*_SOURCE.files, _SOURCE.files[0]]}, 400),
        ({"files": [FunctionSourceFile(f"{number}.ts", b"") for number in range(MOST_FILES)]}, 413),
        ({"files": [*_SOURCE.files, FunctionSourceFile("big.bin", b"\0" * MOST_UNPACKED)]}, 413),
    ],
)
def test_what_cannot_be_deployed_is_refused(changes: dict[str, object], status: int) -> None:
    with pytest.raises(ManagementError) as refused:
        make_bundle(msgspec.structs.replace(_SOURCE, **changes))

    assert refused.value.status == status


@pytest.mark.parametrize("data", [b"", b"no archive", make_bundle(_SOURCE)[:200]])
def test_a_stored_bundle_that_cannot_be_read_is_an_error_of_the_server(data: bytes) -> None:
    with pytest.raises(ManagementError) as refused:
        files_of_bundle(data)

    assert refused.value.status == 502
