"""`headwater functions` and `secrets` as far as they need no platform; tests/platforms/test_functions_deploy.py has the rest."""

import io
import subprocess
import tarfile
from pathlib import Path

import deno
import msgspec
import pytest
from click.testing import CliRunner

import services.cli.admin as admin
from schemas.functions.deployments import BundleManifest
from schemas.keys.secret import Secret
from schemas.settings.functions import FunctionSettings
from services.cli.bundle import BundleError, FunctionsFolder, folder_of, make_bundle
from services.cli.main import main
from services.supervisor.project.settings import load_project
from tests.full_disk import full_disk
from workers.functions.imports.import_map import map_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "supabase" / "functions"
    files = {
        "a/index.ts": "1", "a/deno.json": "{}", "a/.npmrc": "", "a/.env": "A=1", "a/.git/config": "", "a/node_modules/x/y.js": "",
        "_shared/deep/b.ts": "2", ".env": "A=1", ".env.local": "A=1", "import_map.json": "{}", "other/index.ts": "3",
        "utils/cors.ts": "6", "types.ts": "7",
        "../assets/page.html": "4", "../assets/raw.bin": "5",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def members(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]  # plain files


def test_a_bundle_holds_what_the_function_needs_and_no_secrets(root: Path) -> None:
    settings = FunctionSettings(
        static_files=["./assets/*.html"], env={"KEY": Secret("hidden")}, verify_jwt=False
    )

    data = make_bundle(FunctionsFolder(root, {"a": settings}), "a")

    found = members(data)
    manifest = msgspec.json.decode(found.pop("manifest.json"), type=BundleManifest)
    assert set(found) == {
        "functions/a/index.ts", "functions/a/deno.json", "functions/a/.npmrc", "functions/_shared/deep/b.ts",
        "functions/utils/cors.ts", "functions/types.ts", "functions/import_map.json", "assets/page.html",
    }  # fmt: skip
    assert manifest.settings == FunctionSettings(static_files=["assets/*.html"], verify_jwt=False)
    assert b"hidden" not in data


def test_the_same_files_give_the_same_bytes(root: Path) -> None:
    first = make_bundle(FunctionsFolder(root, {}), "a")
    (root / "a" / "index.ts").touch()

    assert make_bundle(FunctionsFolder(root, {}), "a") == first


def test_a_folder_of_another_name_becomes_the_usual_one(root: Path) -> None:
    other = root.rename(root.parent / "code")
    settings = FunctionSettings(entrypoint="./code/a/index.ts")

    found = members(make_bundle(FunctionsFolder(other, {"a": settings}), "a"))

    assert "functions/a/index.ts" in found
    assert (
        msgspec.json.decode(found["manifest.json"], type=BundleManifest).settings.entrypoint
        == "functions/a/index.ts"
    )


def test_what_cannot_be_bundled_is_told(root: Path) -> None:
    for name in ("missing", "../a", "1a"):
        with pytest.raises(BundleError):
            make_bundle(FunctionsFolder(root, {}), name)
    (root.parent.parent / "x").mkdir()
    (root.parent.parent / "x" / "index.ts").touch()
    with pytest.raises(BundleError, match="outside"):
        make_bundle(FunctionsFolder(root, {"a": FunctionSettings(entrypoint="../x/index.ts")}), "a")


def test_functions_that_are_switched_off_are_not_deployed(root: Path) -> None:
    (root.parent / "config.toml").write_text("[functions.other]\nenabled = false\n")

    assert folder_of(load_project(root.parent.parent, None, None, {}, {})).names() == ["a"]


def test_a_new_function_is_laid_once(tmp_path: Path) -> None:
    run = CliRunner().invoke
    (tmp_path / "supabase").mkdir()
    (tmp_path / "supabase" / "config.toml").write_text("[api]\n")

    made = run(main, ["functions", "new", "hello", "--no-verify-jwt", "--project", str(tmp_path)])
    again = run(main, ["functions", "new", "hello", "--project", str(tmp_path)])
    bad = run(main, ["functions", "new", "1st", "--project", str(tmp_path)])

    assert (made.exit_code, again.exit_code, bad.exit_code) == (0, 2, 2)
    assert "/functions/v1/hello" in (tmp_path / "supabase" / "functions" / "hello" / "index.ts").read_text()
    assert "[functions.hello]\nverify_jwt = false" in (tmp_path / "supabase" / "config.toml").read_text()


_JOB = """import { job, StepError } from "headwater:jobs";
Deno.serve(job<{ order: number }>(async ({ input, step, retry, sleep, waitForEvent, invoke, run }) => {
  const id: string = await step("charge", ({ id, attempt }) => `${id}/${attempt}/${input.order}`);
  await retry("again", { retries: 8, backoff: "1m" }, () => Promise.resolve(id));
  await sleep("rest", new Date());
  const shipped = await waitForEvent<{ parcel: string }>("parcel", { event: "order.shipped", match: { order: 1 } });
  const total: number = await invoke<number>("count", { job: "count" });
  if (new StepError("a", "b").step !== run.job) return { parcel: shipped?.data.parcel ?? null, total };
}));
"""
_SAME = """import * as real from "SHIM";
import * as declared from "headwater:jobs";
type Same<One, Other> = [One] extends [Other] ? [Other] extends [One] ? true : false : false;
const values: Same<typeof real, typeof declared> = true;
const contexts: Same<real.JobContext<Date>, declared.JobContext<Date>> = true;
const rest: Same<[real.JobRun, real.StepInfo, real.StepOptions, real.WaitOptions, real.Duration, real.JobEvent],
  [declared.JobRun, declared.StepInfo, declared.StepOptions, declared.WaitOptions, declared.Duration, declared.JobEvent]> = true;
console.log(values, contexts, rest);
"""


def test_editors_find_the_types_of_jobs_and_the_platform_its_own_module(tmp_path: Path) -> None:
    functions = tmp_path / "supabase" / "functions"
    shim = Path("workers/functions/shims/jobs.ts").resolve()
    files = {
        "order/index.ts": _JOB,
        "wrong/index.ts": _JOB.replace('sleep("rest", new Date())', 'sleep("rest")'),
        "wrong/deno.json": '{"imports": {"ms": "npm:ms@2"}}',
        "same/index.ts": _SAME.replace("SHIM", shim.as_uri()),
        "commented/index.ts": "",
        "commented/deno.jsonc": '{ /* of ours */ "imports": {} }',
    }
    for name, text in files.items():
        (functions / name).parent.mkdir(parents=True, exist_ok=True)
        (functions / name).write_text(text)

    def check(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [deno.find_deno_bin(), "check", "--quiet", str(functions / name / "index.ts")],
            cwd=functions / name,
            env={"DENO_DIR": str(tmp_path / "cache"), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    command = ["functions", "types", "--project", str(tmp_path)]
    first, second = (CliRunner().invoke(main, command) for _ in range(2))

    assert [line.split()[0] for line in first.output.splitlines()] == ["Wrote", "Entered", "Enter", "Entered"]
    assert "deno.jsonc yourself: it has comments" in second.output
    assert "Entered" not in second.output
    assert (functions / "commented" / "deno.jsonc").read_text() == files["commented/deno.jsonc"]
    assert '"npm:ms@2"' in (functions / "wrong" / "deno.json").read_text()
    results = {name: check(name) for name in ("order", "same", "wrong")}
    assert [results[name].returncode for name in ("order", "same")] == [0, 0], results
    assert "Expected 2 arguments, but got 1" in results["wrong"].stderr
    for name in ("order", "wrong"):
        found, _ = map_of(functions / name, functions, FunctionSettings())
        assert found.resolve("headwater:jobs", "") == "headwater:jobs"


def test_a_platform_elsewhere_needs_a_key_and_an_address_that_is_one(tmp_path: Path) -> None:
    run = CliRunner().invoke

    assert run(main, ["secrets", "list", "--url", "https://a.example"]).exit_code == 2
    assert run(main, ["secrets", "list", "--url", "file:///etc/passwd", "--key", "k"]).exit_code == 2
    assert run(main, ["secrets", "list", "--url", "http://127.0.0.1:1", "--key", "k"]).exit_code == 1
    assert run(main, ["functions", "list", "--data", str(tmp_path)]).exit_code == 1
    assert (
        run(
            main, ["functions", "deploy", "--rollback", "--url", "http://127.0.0.1:1", "--key", "k"]
        ).exit_code
        == 2
    )


def test_a_function_that_could_not_be_made_can_be_made_again(root: Path) -> None:
    new = ["functions", "new", "b", "--project", str(root.parents[1])]
    with full_disk():
        full = CliRunner().invoke(main, new)
    config = root.parent / "config.toml"
    config.write_bytes("# für alle".encode("latin-1"))
    strange = CliRunner().invoke(main, new)
    config.write_text("")

    assert (full.exit_code, strange.exit_code) == (2, 2)
    assert "could not be created" in full.output
    assert "not UTF-8" in strange.output
    assert CliRunner().invoke(main, new).exit_code == 0
    assert "[functions.b]" in config.read_text()


@pytest.mark.parametrize("words", [("secrets", "set"), ("functions", "serve")])
def test_an_env_file_that_is_no_utf8_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    file = tmp_path / "secrets.env"
    file.write_bytes("PASSWORD=grün".encode("latin-1"))

    done = CliRunner().invoke(main, [*words, "--env-file", str(file), "--data", str(tmp_path / "none")])

    assert done.exit_code == 2
    assert "is not valid UTF-8" in done.output


def test_a_link_without_an_owner_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = {"id": "1", "email": "a@example.com", "rights": "reader", "disabled_at": None}
    monkeypatch.setattr(admin, "operate", lambda *_, **__: [reader])

    done = CliRunner().invoke(main, ["admin", "link", "--data", str(tmp_path)])

    assert done.exit_code == 1
    assert "headwater admin add EMAIL" in done.output.replace("\n", " ")
