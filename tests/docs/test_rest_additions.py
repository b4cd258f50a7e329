"""The examples of docs/rest-additions.md, against a whole platform, in the order in which they stand."""

import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.platform import Platform, platform

PAGE = (Path(__file__).parents[2] / "docs" / "rest-additions.md").read_text()
_SETUP = re.compile(r"```sql\n(.*?)```", re.DOTALL)
_EXAMPLE = re.compile(r"```http\n((?!HTTP)[A-Z]+ .*?)```\n```http\n(HTTP.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Message:
    """One side of an example."""

    first: str
    headers: dict[str, str]
    body: str


def _message(text: str) -> Message:
    head, _, body = text.partition("\n\n")
    first, *lines = head.strip().splitlines()
    return Message(first, dict(line.split(": ", 1) for line in lines), body.strip())


EXAMPLES = [(_message(asked), _message(expected)) for asked, expected in _EXAMPLE.findall(PAGE)]


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    with platform(environment={"HEADWATER_API_AGGREGATES_ENABLED": "true"}) as one:
        one.psql("".join(_SETUP.findall(PAGE)))
        one.wait_for_catalog("order_items")
        yield one


def _agrees(shown: object, given: object) -> bool:
    """Tell whether what the page shows is what was given; objects may have members that the page leaves out."""
    if isinstance(shown, dict) and isinstance(given, dict):
        return all(key in given and _agrees(value, given[key]) for key, value in shown.items())
    if isinstance(shown, list) and isinstance(given, list):
        return len(shown) == len(given) and all(map(_agrees, shown, given))
    return shown == given


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == PAGE.count("```http\nHTTP") >= 15


@pytest.mark.parametrize(("asked", "expected"), EXAMPLES, ids=[asked.first for asked, _ in EXAMPLES])
def test_an_example_gives_what_the_page_says(
    running_platform: Platform, asked: Message, expected: Message
) -> None:
    method, target = asked.first.split(" ")
    headers = {
        "apikey": running_platform.values["SERVICE_ROLE_KEY"],
        "Content-Type": "application/json",
        **asked.headers,
    }
    connection = http.client.HTTPConnection("127.0.0.1", running_platform.port, timeout=30)
    connection.request(method, target, asked.body or None, headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()

    assert answer.status == int(expected.first.split()[1]), body
    for name, value in expected.headers.items():
        assert answer.headers[name] if value == "..." else answer.headers[name] == value
    if expected.body:
        assert _agrees(json.loads(expected.body), json.loads(body)), body
    else:
        assert body == b""
