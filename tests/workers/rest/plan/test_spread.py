"""The key of a column in the output: reference page, section 8."""

import pytest

from tests.workers.rest.plan.asking import plan
from workers.rest.model import PlannedColumn
from workers.rest.plan.spread import output_name


@pytest.mark.parametrize(
    ("select", "name"),
    [
        ("name", "name"),
        ("key:name", "key"),
        ("name::text", "name"),
        ("meta->a", "a"),
        ("meta->a->>b", "b"),
        ("meta->a->0", "a"),
        ("meta->0", "meta"),
        ("meta->0->-1", "meta"),
        ("meta->0->>b->1", "b"),
        ("key:meta->a", "key"),
        ("id.sum()", "sum"),
        ("total:id.sum()", "total"),
        ("count()", "count"),
        ("meta->>n::int.max()", "max"),
        ("shout", "shout"),
    ],
)
def test_output_names(select: str, name: str) -> None:
    column = plan("GET", f"/projects?select={select}").read.items[0]

    assert isinstance(column, PlannedColumn)
    assert output_name(column) == name
