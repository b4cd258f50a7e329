"""The examples of docs/graphql.md, against a whole platform, in the order in which they stand."""

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from schemas.settings.graphql import Graphql
from tests.platform import Platform, platform

PAGE = (Path(__file__).parents[2] / "docs" / "graphql.md").read_text()
_SETUP = re.compile(r"```sql\n(.*?)```", re.DOTALL)
_EXAMPLE = re.compile(r"```graphql\n(.*?)```\n```json\n(.*?)```", re.DOTALL)
_VARIABLES = re.compile(r"^# variables: (.*)$", re.MULTILINE)
_HEADERS = re.compile(r"^# headers: (.*)$", re.MULTILINE)
_SETTING = re.compile(r"^\| `(\w+)` \| ([\d]+) ?(KiB)?", re.MULTILINE)
EXAMPLES = _EXAMPLE.findall(PAGE)


@pytest.fixture(scope="module")
def running_platform() -> Iterator[Platform]:
    with platform(environment={"HEADWATER_GRAPHQL_MAX_COST": "1000"}) as one:
        one.psql("".join(_SETUP.findall(PAGE)))
        one.wait_for_catalog("sale_line")
        yield one


def _answer(
    running_platform: Platform,
    method: str,
    target: str,
    body: str | None = None,
    more: Mapping[str, str] | None = None,
) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", running_platform.port, timeout=30)
    headers = {"apikey": running_platform.values["SERVICE_ROLE_KEY"], "Content-Type": "application/json"}
    connection.request(method, target, body, {**headers, **(more or {})})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    assert answer.status == 200, data
    return data


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == PAGE.count("```graphql") == PAGE.count("```json") >= 10


@pytest.mark.parametrize(("query", "expected"), EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
def test_an_example_gives_what_the_page_says(running_platform: Platform, query: str, expected: str) -> None:
    variables = _VARIABLES.search(query)
    body = json.dumps({"query": query, "variables": json.loads(variables[1]) if variables else {}})

    headers = _HEADERS.search(query)
    more = json.loads(headers[1]) if headers else {}

    assert json.loads(_answer(running_platform, "POST", "/graphql/v1", body, more)) == json.loads(expected)


def test_the_definition_can_be_fetched(running_platform: Platform) -> None:
    assert b"input CustomerOnConflict {" in _answer(running_platform, "GET", "/graphql/v1?sdl")


def test_the_limits_are_those_of_the_settings() -> None:
    told = {name: int(number) * (1024 if unit else 1) for name, number, unit in _SETTING.findall(PAGE)}
    settings = Graphql()

    assert told == {
        name: getattr(settings, name) for name in settings.__struct_fields__ if name.startswith("max_")
    }
