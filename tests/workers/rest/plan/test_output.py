"""Which media type the rows become: reference page, section 15."""

import pytest

from tests.workers.rest.plan.asking import plan
from workers.rest.errors.plan import NotAcceptable
from workers.rest.model import BodyShape, ExplainOptions, MediaOutput

JSON = MediaOutput(BodyShape.ARRAY, "application/json; charset=utf-8")
CSV = MediaOutput(BodyShape.CSV, "text/csv; charset=utf-8")
OBJECT = "application/vnd.pgrst.object+json"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, JSON),
        ("*/*", JSON),
        ("application/json", JSON),
        ("application/vnd.pgrst.array+json", JSON),
        ("application/vnd.pgrst.array", JSON),
        ("text/csv", CSV),
        ("image/png, text/csv", CSV),
        ("text/csv;q=0.1, application/json", JSON),
        (OBJECT, MediaOutput(BodyShape.SINGLE, f"{OBJECT}; charset=utf-8", is_singular=True)),
        ("application/vnd.rest.object+json", MediaOutput(BodyShape.SINGLE, f"{OBJECT}; charset=utf-8", is_singular=True)),
        ("application/vnd.pgrst.object", MediaOutput(BodyShape.SINGLE, f"{OBJECT}; charset=utf-8", is_singular=True)),
        (
            f"{OBJECT};nulls=stripped",
            MediaOutput(BodyShape.SINGLE, f"{OBJECT};nulls=stripped; charset=utf-8", strips_nulls=True, is_singular=True),
        ),
        (
            "application/vnd.pgrst.array+json;nulls=stripped",
            MediaOutput(BodyShape.ARRAY, "application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8", strips_nulls=True),
        ),
    ],
)  # fmt: skip
def test_the_first_type_that_can_be_made_is_made(accept: str | None, expected: MediaOutput) -> None:
    headers = {} if accept is None else {"accept": accept}

    assert plan("GET", "/clients", **headers).output == expected


@pytest.mark.parametrize(
    ("target", "accept", "listed"),
    [
        ("/clients", "image/png", "image/png"),
        ("/clients", "undefined", "undefined"),
        ("/clients", "image/png, text/html;level=1", "image/png, text/html;level=1"),
        ("/clients", "text/html;q=0.1, a/b", "a/b, text/html"),
        ("/clients", "application/openapi+json", "application/openapi+json"),
        ("/clients", "application/geo+json", "application/geo+json"),
        ("/clients", "application/vnd.pgrst.plain", "application/vnd.pgrst.plain"),
        ("/clients", "text/plain", "text/plain"),
        ("/clients?select=id,name", "application/x-lines", "application/x-lines"),
        ("/clients?select=*,projects(*)", "application/x-lines", "application/x-lines"),
        ("/projects", "application/x-lines", "application/x-lines"),
        ("/rpc/add?a=1", "text/html", "text/html"),
    ],
)
def test_what_cannot_be_made_is_refused(target: str, accept: str, listed: str) -> None:
    with pytest.raises(NotAcceptable) as caught:
        plan("GET", target, accept=accept)

    assert (caught.value.status, caught.value.code) == (406, "PGRST107")
    assert caught.value.message == f"None of these media types are available: {listed}"


@pytest.mark.parametrize(
    ("target", "accept", "content_type"),
    [
        ("/clients", "application/x-lines", "application/x-lines"),
        ("/clients?select=*", "application/x-lines", "application/x-lines"),
        ("/rpc/page", "text/html", "text/html"),
    ],
)
def test_handlers_make_their_types(target: str, accept: str, content_type: str) -> None:
    output = plan("GET", target, accept=accept).output

    assert (output.shape, output.content_type) == (BodyShape.HANDLER, content_type)
    assert output.handler is not None


@pytest.mark.parametrize(
    ("accept", "content_type", "explain", "shape"),
    [
        (
            "application/vnd.pgrst.plan",
            'application/vnd.pgrst.plan+text; for="application/json"; charset=utf-8', ExplainOptions("text", ()), BodyShape.ARRAY,
        ),
        (
            'application/vnd.pgrst.plan+json; for="application/json"; options=verbose;',
            'application/vnd.pgrst.plan+json; for="application/json"; options=verbose; charset=utf-8',
            ExplainOptions("json", ("verbose",)), BodyShape.ARRAY,
        ),
        (
            "application/vnd.pgrst.plan+text; options=wal|nonsense|analyze",
            'application/vnd.pgrst.plan+text; for="application/json"; options=analyze|wal; charset=utf-8',
            ExplainOptions("text", ("analyze", "wal")), BodyShape.ARRAY,
        ),
        (
            'application/vnd.rest.plan+json; for="application/vnd.rest.object"',
            'application/vnd.pgrst.plan+json; for="application/vnd.pgrst.object+json"; charset=utf-8',
            ExplainOptions("json", ()), BodyShape.SINGLE,
        ),
        (
            'application/vnd.pgrst.plan; for="text/csv"',
            'application/vnd.pgrst.plan+text; for="text/csv"; charset=utf-8', ExplainOptions("text", ()), BodyShape.CSV,
        ),
    ],
)  # fmt: skip
def test_plans_are_of_another_type(
    accept: str, content_type: str, explain: ExplainOptions, shape: BodyShape
) -> None:
    output = plan("GET", "/clients", accept=accept).output

    assert (output.content_type, output.explain, output.shape) == (content_type, explain, shape)


@pytest.mark.parametrize(
    "accept",
    ['application/vnd.pgrst.plan; for="a/b"', 'application/vnd.pgrst.plan; for="application/vnd.pgrst.plan+json"'],
)  # fmt: skip
def test_plans_of_what_cannot_be_made_are_refused(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        plan("GET", "/clients", accept=accept)


def test_plans_may_be_off() -> None:
    with pytest.raises(NotAcceptable) as caught:
        plan("GET", "/clients", accept="application/vnd.pgrst.plan+json", plan_enabled=False)

    assert caught.value.message.endswith("application/vnd.pgrst.plan+json")
