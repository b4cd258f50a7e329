"""What is printed about a peer that cannot be had."""

import pytest

from tests.bench.peers.installation import reason

_NPM = """npm warn Unknown user config "nodedir". See `npm help npmrc` for supported config options.
npm error code E404
npm error 404 Not Found - GET https://registry.example/package
npm error 404  The requested resource 'package@*' could not be found or you do not have permission to access it.
npm error 404 Note that you can also install from a
"""
_GO = """go: module module.example/a/b: reading https://proxy.example/a/b/@v/list: 403 Forbidden
\tserver response: This module version is not available.
"""


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (
            _NPM,
            "The requested resource 'package@*' could not be found or you do not have permission to access it.",
        ),
        (_GO, "server response: This module version is not available."),
        ("go: requires go >= 1.27 (running go 1.26.8)", "go: requires go >= 1.27 (running go 1.26.8)"),
        ("first\nlast\n", "last"),
        ("", "it failed without a message"),
    ],
)
def test_the_reason_is_the_line_that_says_what_is_missing_without_addresses(output: str, text: str) -> None:
    assert reason(output) == text
