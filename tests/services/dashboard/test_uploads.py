"""The queue of uploads of the dashboard (pages/storage/uploads.ts), run without a browser."""

import json
import subprocess
from pathlib import Path

import deno

_UPLOADS = Path(__file__).parents[3] / "services" / "dashboard" / "web" / "pages" / "storage" / "uploads.ts"
_TRANSFERS = """
export const made = [];
export class Upload {
  constructor(file, options) { this.file = file; this.isStarted = false; made.push(this); }
  findPreviousUploads() { return Promise.resolve([]); }
  start() { this.isStarted = true; }
  abort() { return Promise.resolve(); }
}
"""
_STOPS = """
globalThis.document = { documentElement: { dataset: { root: "/_/" } } };
globalThis.location = { href: "http://platform.test/_/" };
const signed = { resumable_url: "http://platform.test/x", headers: {}, metadata: {} };
globalThis.fetch = () => new Promise((done) => setTimeout(() => done(new Response(JSON.stringify(signed))), 20));
const { stop, upload, uploads } = await import(Deno.args[0]);
const { made } = await import("tus-js-client");
upload("bucket", "", ["1", "2", "3", "4"].map((name) => ({ file: new File(["x"], name), path: name })), () => {});
for (const entry of uploads.get().slice(0, 3)) stop(entry, () => {});
await new Promise((done) => setTimeout(done, 200));
const started = made.filter(({ isStarted }) => isStarted).map(({ file }) => file.name);
console.log(JSON.stringify([uploads.get().map(({ state }) => state), started]));
"""


def test_an_upload_that_is_stopped_sends_nothing_and_the_next_one_begins(tmp_path: Path) -> None:
    (tmp_path / "transfers.js").write_text(_TRANSFERS)
    (tmp_path / "stops.js").write_text(_STOPS)
    (tmp_path / "map.json").write_text(json.dumps({"imports": {"tus-js-client": "./transfers.js"}}))
    command = [
        deno.find_deno_bin(),
        "run",
        "--allow-read",
        "--no-check",
        "--no-config",
        "--import-map=map.json",
    ]

    ran = subprocess.run(
        [*command, "stops.js", _UPLOADS.as_uri()], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [["stopped", "stopped", "stopped", "running"], ["4"]]
