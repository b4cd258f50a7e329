from pathlib import Path

import pytest

from schemas.keys.secret import Secret
from schemas.settings.functions import EdgeRuntime, FunctionSettings
from workers.functions.catalog.registry import HostedFunction, read_functions


def write(root: Path, path: str, text: str = "x") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def read(
    root: Path, runtime: EdgeRuntime | None = None, **named: FunctionSettings
) -> dict[str, HostedFunction]:
    return read_functions(root, named, runtime or EdgeRuntime(), {})[0]


def test_folders_with_an_entrypoint_are_functions(tmp_path: Path) -> None:
    root = tmp_path / "functions"
    for path in (
        "a/index.ts",
        "b-2/index.js",
        "_shared/index.ts",
        ".hidden/index.ts",
        "empty/readme.md",
        "9x/index.ts",
    ):
        write(root, path)

    assert list(read(root)) == ["a", "b-2"]
    assert read(tmp_path / "elsewhere") == {}


def test_settings_disable_functions_and_set_entrypoints(tmp_path: Path) -> None:
    root = tmp_path / "functions"
    write(root, "off/index.ts")
    entrypoint = write(tmp_path, "elsewhere/main.ts")
    import_map = write(tmp_path, "maps/map.json", "{}")
    static = write(tmp_path, "pages/a.html")

    found = read(
        root,
        off=FunctionSettings(enabled=False),
        far=FunctionSettings(
            entrypoint="./elsewhere/main.ts", import_map="./maps/map.json", static_files=["./pages/*.html"]
        ),
    )

    assert list(found) == ["far"]
    assert found["far"].entrypoint == entrypoint
    assert found["far"].import_map == import_map
    assert found["far"].readable == (entrypoint.parent, static)


def test_folders_without_an_entrypoint_are_shared(tmp_path: Path) -> None:
    root = tmp_path / "functions"
    for path in ("_shared/index.ts", "_lib/x.ts", "utils/cors.ts", "types.ts", "a/index.ts", "b/index.ts"):
        write(root, path)
    for path in ("deno.json", ".env", ".idea/x.ts", "node_modules/x/index.ts", "readme.md", "named/main.ts"):
        write(root, path)
    before = read(root)

    found = read(root, named=FunctionSettings(entrypoint="./functions/named/main.ts"))

    assert found["a"].readable == tuple(root / each for each in ("a", "_lib", "_shared", "types.ts", "utils"))
    assert found["a"].shared == found["named"].shared
    write(root, "utils/cors.ts", "changed")
    write(root, "b/index.ts", "changed")
    assert read(root)["a"].version != before["a"].version


def test_the_nearest_configuration_applies(tmp_path: Path) -> None:
    root = tmp_path / "functions"
    write(root, "a/index.ts")
    shared = write(root, "import_map.json", "{}")
    assert read(root)["a"].import_map == shared

    own = write(root, "a/deno.json", "{}")
    found = read(root)["a"]
    assert (found.import_map, found.config) == (own, own)


def test_a_version_changes_with_every_file_that_a_process_reads(tmp_path: Path) -> None:
    root = tmp_path / "functions"
    write(root, "a/index.ts")
    versions = [read(root)["a"].version]
    assert read(root)["a"].version == versions[0]

    for path in ("a/index.ts", "a/lib/deep.ts", "_shared/x.ts", "deno.json", ".env"):
        write(root, path, "A=other")
        versions.append(read(root)["a"].version)
    versions.append(read(root, a=FunctionSettings(memory_mb=64))["a"].version)
    versions.append(read(root, a=FunctionSettings(env={"X": Secret("1")}))["a"].version)
    write(root, "b/index.ts")

    assert len(set(versions)) == len(versions)
    assert read(root)["a"].version == versions[-3]


def test_variables_come_from_file_and_settings(tmp_path: Path) -> None:
    root = tmp_path / "functions"
    write(root, "a/index.ts")
    write(root, ".env", "A=file\nB=file\nSUPABASE_URL=evil\n")
    runtime = EdgeRuntime(secrets={"B": Secret("of settings"), "GONE": Secret("env(NOT_SET)")})

    found, warnings = read_functions(
        root, {"a": FunctionSettings(env={"C": Secret("own")})}, runtime, {"A": "kept"}
    )

    assert found["a"].env == {"A": "kept", "B": "of settings", "C": "own"}
    assert any("SUPABASE_URL" in warning for warning in warnings)
    assert "of settings" not in repr(found["a"])


def test_a_branch_has_none_of_its_parents_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "functions"
    write(root, "a/index.ts")
    write(root, ".env", "A=file\n")
    monkeypatch.setenv("HEADWATER_CLEARED_SETTINGS", "edge_runtime.secrets,functions.*.env")

    assert read(root)["a"].env == {}


def test_a_source_that_calls_listen_is_detected(tmp_path: Path) -> None:
    root = tmp_path / "functions"
    write(root, "express/index.ts", "const app = express();\napp\n  .listen(3000)")
    write(root, "plain/index.ts", "Deno.serve(() => new Response(''))")

    found = read(root)

    assert (found["express"].listens_itself, found["plain"].listens_itself) == (True, False)


def test_a_configured_function_without_a_file_causes_a_warning(tmp_path: Path) -> None:
    found, warnings = read_functions(
        tmp_path, {"ghost": FunctionSettings(), "9": FunctionSettings()}, EdgeRuntime(), {}
    )

    assert found == {}
    assert len(warnings) == 2
