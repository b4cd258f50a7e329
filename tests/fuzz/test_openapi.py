"""Requests that schemathesis makes from the OpenAPI 3.1 document: those that fit it, and those that do not, are answered as it says."""

import json
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis.generation.modes import GenerationMode

from tests.fuzz.core import Budget
from tests.fuzz.rest import is_error
from tests.fuzz.wire import Wire

pytestmark = pytest.mark.process_group("fuzz")

_OPENAPI = "application/vnd.oai.openapi+json;version=3.1"
_TIMEOUT_S = 30
_EXAMPLES, _EXAMPLES_A_MINUTE = 4, 15


@pytest.mark.parametrize(
    ("mode", "key"),
    [(GenerationMode.POSITIVE, "SERVICE_ROLE_KEY"), (GenerationMode.NEGATIVE, "ANON_KEY")],
    ids=["fits", "does not fit"],
)
def test_requests_of_the_document_are_answered_as_it_says(
    budget: Budget, wire: Wire, mode: GenerationMode, key: str
) -> None:
    status, body = wire.target.get("/rest/v1/", {"accept": _OPENAPI})
    assert status == 200, body
    document: dict[str, Any] = json.loads(body)
    error = Draft202012Validator(document["components"]["schemas"]["error.body"])
    described = schemathesis.openapi.from_dict(document)
    headers = {"apikey": wire.target.values[key]}
    every: list[Any] = [found.ok() for found in described.get_all_operations()]
    operations = [
        operation for operation in every if operation.label != "GET /"
    ]  # it takes nothing that could be wrong
    with requests.Session() as session:

        def check(case: Any) -> None:
            answer = case.call(
                base_url=f"{wire.target.url}/rest/v1", session=session, headers=headers, timeout=_TIMEOUT_S
            )
            told = f"{case.as_curl_command()}\n{answer.status_code} {answer.text[:500]}"
            assert answer.status_code < 500, told
            if answer.status_code == 304:
                assert not answer.content, told
            elif answer.status_code >= 300:
                assert is_error(answer.content), told
                assert error.is_valid(answer.json()), told
            elif answer.content and not {"select", "columns"} & set(case.query or ()):
                case.operation.validate_response(answer, case=case)

        count = _EXAMPLES if budget.seconds is None else int(_EXAMPLES_A_MINUTE * budget.seconds / 60) + 1
        for operation in operations:
            _settings(count)(given(operation.as_strategy(generation_mode=mode))(check))()

    assert len(operations) > 30


def test_afterwards_the_document_is_the_same(wire: Wire) -> None:
    before, after = (wire.target.get("/rest/v1/", {"accept": _OPENAPI}) for _ in range(2))

    assert before == after
    assert wire.target.get("/rest/v1/known") == (200, b"[]")


def _settings(count: int) -> settings:
    """Give fixed settings of so many examples."""
    return settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
