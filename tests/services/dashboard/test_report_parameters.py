"""Which parameters a saved query gets of the time range ($1 its beginning, $2 its end), run without a browser."""

import json
import subprocess
from pathlib import Path

import deno

_MODULE = Path(__file__).parents[3] / "services" / "dashboard" / "web" / "pages" / "reports" / "parameters.ts"
_CALLS = """
const { rangeParameters } = await import(Deno.args[0]);
console.log(JSON.stringify(JSON.parse(Deno.args[1]).map((sql) => rangeParameters(sql, 7200000, 3600).length)));
"""
_BOUNDS = """
const { rangeParameters } = await import(Deno.args[0]);
console.log(JSON.stringify(rangeParameters("$1 $2", 7200000, 3600)));
"""
CASES = {
    "select 1": 0,
    "select * from t where at >= $1": 1,
    "select * from t where at >= $1 and at < $2": 2,
    "select '$1', \"$2\"": 0,
    "select 'it''s $1'": 0,
    "select E'\\' $2' || $1": 1,
    "select $$ $1 $2 $$": 0,
    "select $tag$ $$ $2 $tag$, $1": 1,
    "-- $2\nselect $1": 1,
    "/* $2\n */ select 1": 0,
    "select $12": 0,
    "select 'open $1": 1,
}


def _run(folder: Path, program: str, *arguments: str) -> object:
    (folder / "calls.js").write_text(program)
    command = [deno.find_deno_bin(), "run", "--allow-read", "--no-check", "--no-config", "calls.js"]
    ran = subprocess.run(
        [*command, _MODULE.as_uri(), *arguments], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    value: object = json.loads(ran.stdout)
    return value


def test_only_parameters_outside_of_texts_and_comments_count(tmp_path: Path) -> None:
    counts = _run(tmp_path, _CALLS, json.dumps(list(CASES)))

    assert counts == list(CASES.values())


def test_the_range_ends_now(tmp_path: Path) -> None:
    assert _run(tmp_path, _BOUNDS) == ["1970-01-01T01:00:00.000Z", "1970-01-01T02:00:00.000Z"]
