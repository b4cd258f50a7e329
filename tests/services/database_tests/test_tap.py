"""What a file's output says, as people and as other programs read it."""

from xml.etree import ElementTree

import pytest

from services.database_tests.files import FileResult
from services.database_tests.report import as_junit, as_tap, lines_for_people, summary
from services.database_tests.tap import TapResult, read_tap

OUTPUT = """\
1..5
ok 1 - a <row> & more
not ok 2 - wrong
# Failed test 2: "wrong"
#         have: 1
not ok 3 - later # TODO not yet
ok 4 # SKIP no server
ok 5
"""


@pytest.mark.parametrize(
    ("output", "passed", "faults"),
    [
        ("1..1\nok 1 - a\n", True, []),
        ("ok 1 - a\n1..1\n", True, []),
        ("1..0 # SKIP nothing here\n", True, []),
        ("1..1\nnot ok 1 - a\n", False, []),
        ("1..1\nnot ok 1 - a # TODO b\n", True, []),
        ("1..2\nok 1 - a\n", False, ["2 tests were planned, and 1 ran"]),
        ("ok 1 - a\n", False, ["no plan: the file does not call plan() and finish()"]),
        ("1..1\nok 1\nBail out! no schema\n", False, ["bailed out: no schema"]),
        ("CREATE TABLE\n1..1\n    not ok 1 - inside\n    1..1\nok 1 - test_a\nokay\n", True, []),
        ("", False, ["no plan: the file does not call plan() and finish()"]),
        (f"1..{'9' * 6000}\nok 1\n", False, ["1000000 tests were planned, and 1 ran"]),
    ],
)
def test_a_file_passes_if_its_plan_is_met(output: str, passed: bool, faults: list[str]) -> None:
    result = read_tap(output.splitlines())

    assert (result.is_passed, result.faults) == (passed, faults)


def result_of(output: str, errors: str = "", code: int = 0) -> FileResult:
    tap = read_tap(output.splitlines()) if output else TapResult()
    return FileResult("tests/a.sql", output, tap, errors, code, 0.5)


def test_people_see_what_failed() -> None:
    result = result_of(OUTPUT)

    assert list(lines_for_people(result, 11)) == [
        "tests/a.sql ... FAILED 1 of 5  (4 passed, 0.50 s)",
        "    not ok 2 - wrong",
        '        Failed test 2: "wrong"',
        "        have: 1",
    ]
    assert summary([result]) == "1 of 1 files failed, 1 tests: 1 files, 5 tests, 0.5 s"


def test_junit_has_a_case_for_each_test_and_each_fault_of_a_file() -> None:
    broken = result_of("", "psql:a.sql:3: ERROR: no \x01 table", 3)

    suites = ElementTree.fromstring(as_junit([result_of(OUTPUT), broken]))
    counts = [[suite.get(name) for name in ("tests", "failures", "errors", "skipped")] for suite in suites]
    cases = [(case.get("name"), [child.tag for child in case]) for case in suites.iter("testcase")]

    assert counts == [["5", "1", "0", "1"], ["1", "0", "1", "0"]]
    assert cases == [
        ("a <row> & more", []), ("wrong", ["failure"]), ("later", []), ("test 4", ["skipped"]), ("test 5", []), ("the file", ["error"]),
    ]  # fmt: skip


def test_a_run_is_one_tap_stream_whose_subtests_are_the_files() -> None:
    lines = list(as_tap([result_of("1..1\nok 1 - a\n"), result_of("", "psql: error: gone", 2)]))

    assert lines == [
        "TAP version 14", "1..2", "# Subtest: tests/a.sql", "    1..1", "    ok 1 - a", "ok 1 - tests/a.sql",
        "# Subtest: tests/a.sql", "    # psql: error: gone", "not ok 2 - tests/a.sql",
    ]  # fmt: skip
