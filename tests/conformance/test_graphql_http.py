"""The server audits of the npm package graphql-http, on a running platform. Needs Node (skipped only where it is absent)."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.platform import Platform

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(120),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]

_UNCHECKED = "The Content-Type of a POST is not checked, so a request without one is answered"
_NULL = "Null for a non-null variable of a query counts as absent: a conformance case has a null filter"
_VARIABLES = "`variables` that are no object are an error of GraphQL with status 200: a conformance case has its message"
_EXTENSIONS = "`extensions` are ignored, whatever they are, except persisted queries"
EXCEPTIONS = {
    "9ABE": _UNCHECKED,
    "86EE": _NULL,
    **{f"476{index}": _VARIABLES for index in range(4)},
    **{f"58B{index}": _EXTENSIONS for index in range(4)},
}
"""Audits that fail, and why. Each is a SHOULD or a MAY. docs/reference/graphql.md, section 1."""


@pytest.fixture(scope="module")
def results(client_platform: Platform, node_modules: None) -> dict[str, dict[str, str]]:
    """The results of all audits by their identifiers."""
    done = subprocess.run(
        ["node", "graphql-http.mjs"],
        cwd=HERE,
        env={**os.environ, **client_platform.values},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {result["id"]: result for result in json.loads(done.stdout)}


def test_every_audit_passes_but_those_with_a_reason(results: dict[str, dict[str, str]]) -> None:
    failed = {name: result for name, result in results.items() if result["status"] != "ok"}

    assert len(results) > 60
    unexpected = [
        f"{name} {failed[name]['name']}: {failed[name]['reason']}" for name in failed.keys() - EXCEPTIONS
    ]
    assert not unexpected, "\n".join(unexpected)
    assert sorted(EXCEPTIONS.keys() - failed.keys()) == [], "these pass: they are no exceptions any more"


def test_no_requirement_is_an_exception(results: dict[str, dict[str, str]]) -> None:
    assert [name for name in EXCEPTIONS if results[name]["name"].startswith("MUST")] == []
