"""OPTIONS: reference page, section 18."""

from dataclasses import replace

import pytest

from schemas.http import Response, header
from tests.workers.rest.plan.asking import OPTIONS
from tests.workers.rest.plan.catalogs import CATALOG
from workers.rest.errors.plan import DatabaseFunctionNotFound, RelationNotFound
from workers.rest.options import allowed_methods
from workers.rest.parse.request import PlanHeaders, is_call_path, parse_request


def answer(path: str, catalog: object = CATALOG) -> Response:
    asked = parse_request("OPTIONS", path, "", PlanHeaders(), OPTIONS)
    return allowed_methods(asked, is_call_path(path), catalog, OPTIONS)  # type: ignore[arg-type]  # a catalog


def with_clients(**changes: object) -> object:
    relation = replace(CATALOG.relations["public", "clients"], **changes)  # type: ignore[arg-type]  # its fields
    return replace(CATALOG, relations={**CATALOG.relations, ("public", "clients"): relation})


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/", "OPTIONS,GET,HEAD"),
        ("/clients", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"),
        ("/lines", "OPTIONS,GET,HEAD,POST,PATCH,DELETE"),
        ("/project_list", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"),
        ("/rpc/nothing", "OPTIONS,POST"),
        ("/rpc/letters", "OPTIONS,GET,HEAD,POST"),
        ("/rpc/add", "OPTIONS,GET,HEAD,POST"),
        ("/rpc/over", "OPTIONS,POST"),
    ],
)
def test_a_resource_says_what_it_takes(path: str, methods: str) -> None:
    found = answer(path)

    assert (found.status, found.body) == (200, b"")
    assert header(found.headers, "allow") == methods


@pytest.mark.parametrize(
    ("changes", "methods"),
    [
        ({"insertable": False}, "OPTIONS,GET,HEAD,PATCH,DELETE"),
        ({"updatable": False}, "OPTIONS,GET,HEAD,POST,DELETE"),
        ({"deletable": False}, "OPTIONS,GET,HEAD,POST,PUT,PATCH"),
        ({"insertable": False, "updatable": False, "deletable": False}, "OPTIONS,GET,HEAD"),
    ],
)
def test_a_relation_takes_what_can_be_written(changes: dict[str, bool], methods: str) -> None:
    assert header(answer("/clients", with_clients(**changes)).headers, "allow") == methods


def test_unknown_resources_are_refused() -> None:
    with pytest.raises(RelationNotFound):
        answer("/nothing_here")
    with pytest.raises(DatabaseFunctionNotFound) as caught:
        answer("/rpc/nothing_here")
    assert caught.value.message == "Could not find the function public.nothing_here in the schema cache"
