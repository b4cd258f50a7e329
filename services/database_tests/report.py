"""Results of database tests as text for people, as TAP, and as JUnit's XML (pure)."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from services.database_tests.files import FileResult
from services.database_tests.tap import TapTest


def lines_for_people(result: FileResult, width: int) -> Iterator[str]:
    """Yield the line of a file, and what failed in it below. `width` is that of the longest name."""
    dots = "." * (width - len(result.name) + 3)
    passed = sum(test.is_passed for test in result.tap.tests)
    verdict = (
        "ok" if result.is_passed else f"FAILED {len(result.tap.tests) - passed} of {len(result.tap.tests)}"
    )
    yield f"{result.name} {dots} {verdict}  ({passed} passed, {result.seconds:.2f} s)"
    for test in result.tap.tests:
        if not test.is_passed:
            yield f"    not ok {test.number} - {test.description}"
            yield from (f"        {line}" for line in test.diagnostics)
    for fault in result.faults:
        yield from (f"    {line}" for line in fault.splitlines())


def summary(results: Sequence[FileResult]) -> str:
    """Return the last line."""
    tests = [test for result in results for test in result.tap.tests]
    failed = sum(not test.is_passed for test in tests)
    broken = sum(not result.is_passed for result in results)
    seconds = sum(result.seconds for result in results)
    verdict = "All tests passed" if not broken else f"{broken} of {len(results)} files failed, {failed} tests"
    return f"{verdict}: {len(results)} files, {len(tests)} tests, {seconds:.1f} s"


def as_tap(results: Sequence[FileResult]) -> Iterator[str]:
    """Yield one TAP stream in which each file is a test, with its own output as subtest."""
    yield "TAP version 14"
    yield f"1..{len(results)}"
    for number, result in enumerate(results, 1):
        yield f"# Subtest: {result.name}"
        yield from (f"    {line}" for line in result.output.splitlines())
        yield from (f"    # {line}" for fault in result.faults for line in fault.splitlines())
        yield f"{'ok' if result.is_passed else 'not ok'} {number} - {result.name}"


def as_junit(results: Sequence[FileResult]) -> str:
    """Return JUnit's XML: a suite a file, a case a test; faults of a file are a case of their own."""
    suites = "".join(_suite(result) for result in results)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{suites}</testsuites>\n'


def _suite(result: FileResult) -> str:
    cases = [
        _case(result, test.description or f"test {test.number}", *_outcome(test)) for test in result.tap.tests
    ]
    faults = [_case(result, "the file", "error", fault) for fault in result.faults]
    failures = sum(not test.is_passed for test in result.tap.tests)
    skipped = sum(test.directive == "skip" for test in result.tap.tests)
    head = (
        f'<testsuite name={quoteattr(result.name)} tests="{len(cases) + len(faults)}" failures="{failures}" '
        f'errors="{len(faults)}" skipped="{skipped}" time="{result.seconds:.3f}">'
    )
    return "\n".join([head, *cases, *faults, "</testsuite>", ""])


def _outcome(test: TapTest) -> tuple[str, str]:
    """Return the element of a case and its text; no element for a test that passed."""
    if test.directive == "skip":
        return "skipped", test.reason
    return ("", "") if test.is_passed else ("failure", "\n".join(test.diagnostics))


def _case(result: FileResult, name: str, element: str, text: str) -> str:
    head = f"<testcase classname={quoteattr(result.name)} name={quoteattr(_printable(name))}"
    if not element:
        return f"{head}/>"
    message = quoteattr(_printable(text.partition(chr(10))[0]))
    return f"{head}><{element} message={message}>{escape(_printable(text))}</{element}></testcase>"


def _printable(text: str) -> str:
    """Return a text without the characters that XML 1.0 cannot hold."""
    return "".join(
        sign
        for sign in text
        if sign in "\t\n\r" or " " <= sign <= "\ud7ff" or "\ue000" <= sign <= "\ufffd" or sign > "\uffff"
    )
