"""Results of SQL as the files that the dashboard saves (pages/sql/result.ts), run without a browser."""

import json
import subprocess
from pathlib import Path

import deno

_RESULT = Path(__file__).parents[3] / "services" / "dashboard" / "web" / "pages" / "sql" / "result.ts"
_WRITES = """
const { jsonOf } = await import(Deno.args[0]);
const [names, types, row] = JSON.parse(Deno.args[1]);
console.log(jsonOf({ columns: names.map((name, at) => ({ name, type: types[at] })), rows: [row] }));
"""


def test_no_value_of_a_result_is_lost_or_changed_in_json(tmp_path: Path) -> None:
    (tmp_path / "writes.js").write_text(_WRITES)
    columns: list[tuple[str, str, str | None, object]] = [
        ("id", "bigint", "1", 1),
        ("id", "bigint", "2", 2),
        ("id_2", "text", "3", "3"),
        ("big", "bigint", "9007199254740993", "9007199254740993"),
        ("nan", "double precision", "NaN", "NaN"),
        ("endless", "numeric", "-Infinity", "-Infinity"),
        ("json", "jsonb", '{"a": [1, 2.5]}', {"a": [1, 2.5]}),
        ("exact", "jsonb", '{"a": 12345678901234567890}', '{"a": 12345678901234567890}'),
        ("none", "text", None, None),
    ]
    names, types, row, _ = zip(*columns, strict=True)
    command = [deno.find_deno_bin(), "run", "--allow-read", "--no-check", "--no-config", "writes.js"]

    ran = subprocess.run(
        [*command, _RESULT.as_uri(), json.dumps([names, types, row])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ran.returncode == 0, ran.stderr
    written = json.loads(ran.stdout)[0]
    assert list(written) == ["id", "id_3", "id_2", "big", "nan", "endless", "json", "exact", "none"]
    assert list(written.values()) == [wanted for *_, wanted in columns]
