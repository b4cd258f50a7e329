"""Where parameters belong in the tree of resources: reference page, sections 7.4, 7.5, 9.3 and 11."""

import pytest

from tests.workers.rest.plan.asking import plan
from workers.rest.errors.plan import NotEmbedded
from workers.rest.model import ALL_ROWS, PlannedFilter, PlannedLogic, RelationRead, RowRange


def nested(read: RelationRead, *keys: str) -> RelationRead:
    for key in keys:
        read = next(embed.read for embed in read.embeds if embed.key == key)
    return read


NESTED = "/clients?select=*,projects(*,tasks(*))"


@pytest.mark.parametrize(
    ("parameter", "keys"),
    [
        ("name=eq.x", ()),
        ("projects.name=eq.x", ("projects",)),
        ("projects.tasks.name=eq.x", ("projects", "tasks")),
    ],
)
def test_a_filter_restricts_the_resource_of_its_path(parameter: str, keys: tuple[str, ...]) -> None:
    read = plan("GET", f"{NESTED}&{parameter}").read

    for path in ((), ("projects",), ("projects", "tasks")):
        assert len(nested(read, *path).where) == (path == keys)
    found = nested(read, *keys).where[0]
    assert isinstance(found, PlannedFilter)
    assert (found.field.name, found.operator) == ("name", "eq")


@pytest.mark.parametrize(
    ("parameter", "keys"),
    [("or=(id.eq.1)", ()), ("projects.not.or=(id.eq.1)", ("projects",)), ("projects.tasks.and=(id.eq.1)", ("projects", "tasks"))],
)  # fmt: skip
def test_logic_restricts_the_resource_of_its_path(parameter: str, keys: tuple[str, ...]) -> None:
    found = nested(plan("GET", f"{NESTED}&{parameter}").read, *keys).where[0]

    assert isinstance(found, PlannedLogic)
    assert found.negated is ("not" in parameter)


def test_order_limit_and_offset_belong_to_their_paths() -> None:
    read = plan(
        "GET",
        f"{NESTED}&order=id&limit=1&projects.order=name.desc&projects.offset=2&projects.tasks.limit=3",
    ).read

    assert (read.range, nested(read, "projects").range) == (RowRange(0, 1), RowRange(2))
    assert nested(read, "projects", "tasks").range == RowRange(0, 3)
    assert [term.field.name for term in read.order] == ["id"]
    assert [term.descending for term in nested(read, "projects").order] == [True]
    assert nested(read, "projects", "tasks").order == ()


@pytest.mark.parametrize(
    ("parameter", "name"),
    [
        ("tasks.id=eq.1", "tasks"),
        ("projects.users.id=eq.1", "users"),
        ("tasks.order=id", "tasks"),
        ("tasks.limit=1", "tasks"),
        ("nothing.or=(id.eq.1)", "nothing"),
        ("order=tasks(id)", "tasks"),
    ],
)
def test_a_path_to_what_is_not_embedded_is_refused(parameter: str, name: str) -> None:
    with pytest.raises(NotEmbedded) as caught:
        plan("GET", f"{NESTED}&{parameter}")

    assert caught.value.body() == {
        "code": "PGRST108",
        "message": f"'{name}' is not an embedded resource in this request",
        "details": None,
        "hint": f"Verify that '{name}' is included in the 'select' query parameter.",
    }


ALIASED = "/projects?select=id,client:clients(name)"


@pytest.mark.parametrize(
    "parameter", ["client.name=eq.x", "client.limit=1", "client.or=(id.eq.1)", "client.order=id"]
)
def test_an_alias_is_the_name_in_paths(parameter: str) -> None:
    assert plan("GET", f"{ALIASED}&{parameter}").warnings == ()


@pytest.mark.parametrize(
    "parameter", ["clients.name=eq.x", "clients.limit=1", "clients.or=(id.eq.1)", "clients.order=id", "order=clients(name)"]
)  # fmt: skip
def test_the_name_behind_an_alias_works_with_a_warning_or_not_at_all(parameter: str) -> None:
    assert plan("GET", f"{ALIASED}&{parameter}").warnings == (("clients", "client"),)
    with pytest.raises(NotEmbedded) as caught:
        plan("GET", f"{ALIASED}&{parameter}", legacy_target_names=False)

    assert caught.value.message == "'clients' is not an embedded resource in this request"
    assert caught.value.details == "Target names are not allowed in filters if they have an alias"
    assert caught.value.hint == "Change 'clients' to 'client' in filters, orders or limits."


def test_a_warning_is_given_once_an_embed() -> None:
    found = plan("GET", f"{ALIASED}&clients.name=eq.x&clients.id=gt.1&clients.limit=1")

    assert found.warnings == (("clients", "client"),)


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_on_writes_the_root_s_filters_choose_rows_and_limits_are_ignored(method: str) -> None:
    target = "/projects?select=*,tasks(*)&id=eq.1&or=(id.eq.2)&limit=1&tasks.limit=1&tasks.name=eq.x&order=id"

    found = plan(method, target, '{"name":"x"}', prefer="return=representation")

    assert (found.read.where, found.read.range) == ((), ALL_ROWS)
    assert [term.field.name for term in found.read.order] == ["id"]
    assert (len(nested(found.read, "tasks").where), nested(found.read, "tasks").range) == (1, ALL_ROWS)
    assert found.write is not None
    assert len(found.write.where) == (0 if method == "POST" else 2)
