import re

import pytest

from services.supervisor.postgres.absent_extensions import (
    AbsentExtensions,
    NameOnlyExtension,
    RejectedExtension,
    absent_files,
    read_absent,
)

TABLE = AbsentExtensions(
    outside="Go elsewhere.",
    named={"tool": NameOnlyExtension("1.2", "it's compiled", "Do without.", functions=("tool_run(text)",))},
    refused={"maps": RejectedExtension("no maps"), "trains": RejectedExtension("no rails", "Walk.")},
)


def test_a_name_gets_a_control_file_and_a_script_that_tells():
    files = dict(absent_files(TABLE))

    assert files["tool.control"] == (
        "comment = 'a name only: it''s compiled'\ndefault_version = '1.2'\nrelocatable = true\nsuperuser = false\n"
    )
    assert (
        "raise notice using message = 'extension tool is a name only here: it''s compiled'"
        in files["tool--1.2.sql"]
    )
    assert "create function tool_run(text) returns void" in files["tool--1.2.sql"]


def test_a_refusal_tells_what_to_do():
    files = dict(absent_files(TABLE))

    assert (
        "message = 'extension maps is not available here: no maps', hint = 'Go elsewhere.'"
        in files["maps--0.sql"]
    )
    assert "hint = 'Walk.'" in files["trains--0.sql"]
    assert files["maps.control"].startswith("comment = 'not available: no maps'")


@pytest.mark.parametrize(("name", "entry"), [*read_absent().named.items(), *read_absent().refused.items()])
def test_every_entry_is_a_sentence_with_advice(name: str, entry: NameOnlyExtension | RejectedExtension):
    assert re.fullmatch(r"[a-z0-9_]+", name)
    assert not entry.reason.endswith(".")
    assert entry.advice == "" or entry.advice.endswith((".", ";"))
