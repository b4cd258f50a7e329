"""Fragments of a statement, for tests that look at one part of it."""

from collections.abc import Sequence

from tests.workers.rest.plan.asking import PlannedRequest, ask
from workers.rest.model import WritePlan
from workers.rest.query.query import query_for
from workers.rest.query.read import read_sql
from workers.rest.query.write import write_sql
from workers.sql.compose import Param, ParameterSlot, Sql, render


def bind(params: Sequence[Param], values: Sequence[str]) -> list[bytes | None]:
    """Return the parameters of a rendered statement with the values of one request in its slots."""
    bound: list[bytes | None] = []
    for param in params:
        if isinstance(param, ParameterSlot):
            value = values[param.index]
            bound.append(param.convert(value) if param.convert else value.encode())
        else:
            bound.append(param)
    return bound


def shown(sql: Sql, values: tuple[str, ...] = ()) -> tuple[str, list[str | None]]:
    """Render a fragment; give its text and its parameters as texts."""
    text, params = render(sql)
    return text, [None if each is None else each.decode() for each in bind(params, values)]


def rows(target: str, **headers: str | bool | int | None) -> tuple[str, list[str | None]]:
    """Return the SELECT of a read, with its parameters."""
    asked = ask("GET", target, **headers)
    return shown(read_sql(asked.plan.read), asked.values)


def after_from(target: str) -> tuple[str, list[str | None]]:
    """Return what stands behind the first FROM of a read."""
    text, params = rows(target)
    return text.partition(" from ")[2], params


def change(method: str, target: str, body: str | None = None, /, **headers: str) -> str:
    """Return the statement of a change."""
    plan = ask(method, target, body, **headers).plan
    assert isinstance(plan, WritePlan)
    return render(write_sql(plan.write))[0]


def whole(asked: PlannedRequest) -> str:
    """Return the whole statement."""
    return query_for(asked.plan).text
