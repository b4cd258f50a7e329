"""Requests made at random from the hand-made catalog: every one of them should become a statement that Postgres takes."""

import re
from urllib.parse import quote

from hypothesis import strategies as st

from tests.workers.rest.plan.catalogs import CATALOG
from tests.workers.rest.query.requests import RestArguments
from workers.database.schema_cache.catalog import CatalogRelation, ComputedRelationship

_TEXTS, _NUMBERS = ("text", "character varying"), ("integer", "bigint", "numeric")
_ROOT_EMBED = re.compile(r"e0\d=")
_ANY = ("eq", "neq", "gt", "lte", "isdistinct", "not.eq", "not.lt")
_VALUES = {
    "integer": "7", "bigint": "7", "numeric": "1.5", "jsonb": '{"a":1}', "integer[]": "{1,2}", "int4range": "[1,5)",
    "date": "2020-01-01", "tsvector": "cat",
}  # fmt: skip
_hostile = st.text("a'\"\\;-$%*()[]{}, .:é\n", max_size=8)


def _name(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _embeddable(relation: CatalogRelation) -> list[tuple[str, CatalogRelation, bool]]:
    """List what may be embedded without a hint: its name, its relation, whether it is one row."""
    found = CATALOG.relationships.get((relation.schema, relation.name), ())
    names = [each.function[1] if isinstance(each, ComputedRelationship) else each.target[1] for each in found]
    return [
        (name, CATALOG.relations[each.target], each.is_to_one)
        for name, each in zip(names, found, strict=True)
        if names.count(name) == 1
    ]


@st.composite
def _filters(draw: st.DrawFn, relation: CatalogRelation, path: str, embeds: list[str]) -> str:
    column = draw(st.sampled_from(list(relation.columns.values())))
    key = f"{path}{_name(column.name)}"
    value = quote(draw(_hostile)) if column.base_type in _TEXTS else quote(_VALUES[column.base_type])
    choices = [f"{key}={draw(st.sampled_from(_ANY))}.{value}", f"{key}=is.null"]
    if not column.type.endswith("[]"):  # Postgres has no arrays of arrays to compare with
        choices.append(f"{key}=in.({_name(value)},{_name(value)})")
    choices.append(
        f"{path}or=({_name(column.name)}.eq.{quote(_name(value))},not.{_name(column.name)}.is.null)"
    )
    if column.base_type in _TEXTS:
        choices += [f"{key}={word}.{value}" for word in ("like", "ilike", "match", "fts(simple)", "not.wfts")]
        choices.append(f"{key}=like(any).{{a*}}")
    if column.type in _NUMBERS:
        choices += [
            f"{key}=eq(any).{{1,2}}",
            f"{key}=gt(col).{_name(column.name)}",
            f"{key}::text=like.{value}",
        ]
    if column.type == "jsonb":
        choices.append(f"{key}->{quote(_name(draw(_hostile)))}->>0=eq.{value}")
    choices += [f"{path}{embed}={draw(st.sampled_from(['is.null', 'not.is.null']))}" for embed in embeds]
    return draw(st.sampled_from(choices))


@st.composite
def _columns(draw: st.DrawFn, relation: CatalogRelation) -> list[str]:
    items = []
    for name in draw(st.lists(st.sampled_from(list(relation.columns)), max_size=3)):
        alias = f"{_name(draw(_hostile.filter(bool)))}:" if draw(st.booleans()) else ""
        items.append(f"{alias}{_name(name)}{draw(st.sampled_from(['', '::text']))}")
    return ["*", *items] if not items or draw(st.booleans()) else items


@st.composite
def _spread(draw: st.DrawFn, relation: CatalogRelation) -> str:
    """Draw the select list of a spread. A name that stands twice in it could not be told apart by the parent."""
    return ",".join(map(_name, draw(st.lists(st.sampled_from(list(relation.columns)), unique=True))))


@st.composite
def _selects(draw: st.DrawFn, relation: CatalogRelation, depth: int, path: str, parameters: list[str]) -> str:
    """Draw the select list of a relation; what belongs to it elsewhere in the URL is added to `parameters`."""
    items = draw(_columns(relation))
    known = _embeddable(relation) if depth < 3 else []
    embeds, terms = [], list(map(_name, relation.columns))
    for place, (name, target, is_one) in enumerate(
        draw(st.lists(st.sampled_from(known), max_size=2)) if known else []
    ):
        alias, join = f"e{depth}{place}", draw(st.sampled_from(["", "!inner", "!left"]))
        if draw(st.integers(0, 3)) == 0:
            items.append(f"...{_name(name)}{join}({draw(_spread(target))})")
            continue
        items.append(
            f"{alias}:{_name(name)}{join}({draw(_selects(target, depth + 1, f'{path}{alias}.', parameters))})"
        )
        embeds.append(alias)
        terms += [f"{alias}({_name(next(iter(target.columns)))})"] if is_one else []
    parameters += draw(st.lists(_filters(relation, path, embeds), max_size=2))
    order = draw(st.lists(st.sampled_from(terms), max_size=2, unique=True))
    parameters += [f"{path}order={','.join(order)}.desc.nullslast"] if order else []
    if draw(st.booleans()):
        parameters += [f"{path}limit={draw(st.integers(0, 9))}", f"{path}offset={draw(st.integers(0, 9))}"]
    return ",".join(items)


@st.composite
def requests(draw: st.DrawFn) -> RestArguments:
    """Draw a read, change or deletion of some relation, with whatever may be selected and asked of it."""
    relation = draw(st.sampled_from(list(CATALOG.relations.values())))
    parameters: list[str] = []
    select = draw(_selects(relation, 0, "", parameters))
    method = draw(st.sampled_from(["GET", "GET", "GET", "HEAD", "PATCH", "DELETE"]))
    if method in ("PATCH", "DELETE"):  # the rows to change are chosen by their columns alone
        parameters = [each for each in parameters if not _ROOT_EMBED.match(each)]
    target = f"/{quote(relation.name)}?select={quote(select, safe='*(),.:!')}&{'&'.join(parameters)}"
    writable = [each for each in relation.columns.values() if each.base_type in _TEXTS]
    body = "{" + ",".join(f'{_json(each.name)}:"x"' for each in writable) + "}" if method == "PATCH" else None
    prefer = draw(st.sampled_from(["", "count=exact", "count=estimated", "return=representation"]))
    accept = draw(st.sampled_from(["*/*", "*/*", "text/csv", "application/vnd.pgrst.object+json"]))
    return RestArguments(method, target, body, (("prefer", prefer), ("accept", accept)))


def _json(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
