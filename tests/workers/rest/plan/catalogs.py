"""A small schema cache made by hand: what `schema.sql` makes in a database (`test_catalogs.py` holds the two together)."""

from collections import defaultdict

from workers.database.schema_cache.catalog import (
    Cardinality,
    Catalog,
    CatalogArgument,
    CatalogColumn,
    CatalogFunction,
    CatalogRelation,
    ComputedField,
    ComputedRelationship,
    Junction,
    MediaHandler,
    Name,
    Relationship,
    Representations,
    Returns,
)

_RANK = [Cardinality.ONE_TO_MANY, Cardinality.MANY_TO_ONE, Cardinality.ONE_TO_ONE, Cardinality.MANY_TO_MANY]
_VIEWS = frozenset({"project_list"})
_ANY: Name = ("pg_catalog", "int4")


def _public(name: str) -> Name:
    return "public", name


def _column(text: str, *, max_length: int | None = None, default: str | None = None) -> CatalogColumn:
    """Read `name: type`, with `!` behind a type that takes no null."""
    name, _, kind = text.partition(": ")
    bare = kind.removesuffix("!")
    full = f"{bare}({max_length})" if max_length else bare
    base = "integer" if bare == "public.color" else bare
    return CatalogColumn(name, bare, full, not kind.endswith("!"), max_length, default, base_type=base)


def _table(name: str, key: str, *columns: str | CatalogColumn, kind: str = "r") -> CatalogRelation:
    listed = [each if isinstance(each, CatalogColumn) else _column(each) for each in columns]
    by_name = {each.name: each for each in listed}
    keys = tuple(key.split(",")) if key else ()
    return CatalogRelation(
        "public",
        name,
        kind,
        by_name,
        keys,
        insertable=True,
        updatable=True,
        deletable=True,
        keeps_inserts=kind == "r",
        keeps_updates=kind == "r",
    )


RELATIONS = (
    _table("clients", "id", "id: integer!", "name: text!"),
    _table(
        "projects", "id", "id: integer!", "name: text", "client_id: integer", "meta: jsonb", "tags: integer[]",
        "period: int4range", "words: tsvector", _column("born: date", default="CURRENT_DATE"),
    ),
    _table("tasks", "id", "id: integer!", "name: text", "project_id: integer"),
    _table("users", "id", "id: integer!", "name: text"),
    _table("users_tasks", "user_id,task_id", "user_id: integer!", "task_id: integer!"),
    _table("badges", "user_id", "user_id: integer!", "label: text"),
    _table("addresses", "id", "id: integer!", "street: text"),
    _table("orders", "id", "id: integer!", "billing_id: integer", "shipping_id: integer", "total: numeric"),
    _table("branches", "id", "id: integer!", "name: text", "parent: integer"),
    _table(
        "items", "id", _column("id: bigint!", default="nextval('public.items_id_seq')"),
        _column("name: character varying", max_length=20, default="'it''s new'::character varying"),
        _column("size: integer!", default="7"), "tint: public.color",
    ),
    _table("lines", "", "line: text"),
    _table('odd "table', 'we"ird', 'we"ird: integer!', "select: text", "a.b: text"),
    _table("project_list", "id", "id: integer", "name: text", "client_id: integer", kind="v"),
)  # fmt: skip


def _both_ways(
    origin: str, column: str, target: str, constraint: str, *, their: str = "id", is_one: bool = False
) -> list[Relationship]:
    """Return a foreign key as relationships of both of its ends."""
    there, back = Cardinality.MANY_TO_ONE, Cardinality.ONE_TO_MANY
    if is_one:
        there = back = Cardinality.ONE_TO_ONE
    forward = Relationship(
        _public(origin), _public(target), there, constraint, ((column, their),),
        is_self=origin == target, origin_is_view=origin in _VIEWS, target_is_view=target in _VIEWS,
    )  # fmt: skip
    backward = Relationship(
        _public(target), _public(origin), back, constraint, ((their, column),), is_parent=is_one,
        is_self=origin == target, origin_is_view=target in _VIEWS, target_is_view=origin in _VIEWS,
    )  # fmt: skip
    return [forward, backward]


def _through(origin: str, junction: str, target: str, own: str, theirs: str) -> Relationship:
    between = Junction(
        _public(junction),
        f"{junction}_{own}_fkey",
        f"{junction}_{theirs}_fkey",
        (("id", own),),
        (("id", theirs),),
    )
    return Relationship(_public(origin), _public(target), Cardinality.MANY_TO_MANY, "", junction=between)


_DETECTED = [
    *_both_ways("projects", "client_id", "clients", "projects_client_id_fkey"),
    *_both_ways("project_list", "client_id", "clients", "projects_client_id_fkey"),
    *_both_ways("tasks", "project_id", "projects", "tasks_project_id_fkey"),
    *_both_ways("tasks", "project_id", "project_list", "tasks_project_id_fkey"),
    *_both_ways("users_tasks", "user_id", "users", "users_tasks_user_id_fkey"),
    *_both_ways("users_tasks", "task_id", "tasks", "users_tasks_task_id_fkey"),
    *_both_ways("badges", "user_id", "users", "badges_user_id_fkey", is_one=True),
    *_both_ways("orders", "billing_id", "addresses", "billing"),
    *_both_ways("orders", "shipping_id", "addresses", "shipping"),
    *_both_ways("branches", "parent", "branches", "branches_parent_fkey"),
    _through("users", "users_tasks", "tasks", "user_id", "task_id"),
    _through("tasks", "users_tasks", "users", "task_id", "user_id"),
]
_COMPUTED = (
    ComputedRelationship(_public("lead"), _public("projects"), _public("users"), is_to_one=True),
    ComputedRelationship(_public("open_tasks"), _public("projects"), _public("tasks"), is_to_one=False),
)


def _relationships() -> dict[Name, tuple[Relationship | ComputedRelationship, ...]]:
    found: dict[Name, list[Relationship | ComputedRelationship]] = defaultdict(list)
    for computed in _COMPUTED:
        found[computed.origin].append(computed)
    for each in sorted(
        _DETECTED, key=lambda each: (each.target, _RANK.index(each.cardinality), each.constraint)
    ):
        found[each.origin].append(each)
    return {origin: tuple(each) for origin, each in found.items()}


def _function(
    name: str,
    *arguments: CatalogArgument,
    returns: Returns = Returns.SCALAR,
    is_set: bool = False,
    type_name: Name = _ANY,
    relation: str | None = None,
    volatility: str = "v",
    settings: tuple[tuple[str, str], ...] = (),
) -> CatalogFunction:
    return CatalogFunction(
        "public", name, arguments, returns, is_set,
        _public(relation) if relation else type_name,
        _public(relation) if relation else None,
        volatility=volatility,
        isolation=dict(settings).get("default_transaction_isolation"),
        settings=settings,
    )  # fmt: skip


_TEXT: Name = ("pg_catalog", "text")
_A = CatalogArgument("a", "integer")
_APART = (("default_transaction_isolation", "serializable"), ("statement_timeout", "7s"), ("work_mem", "8MB"))
_ROWS = Returns.COMPOSITE
FUNCTIONS = (
    _function("add", _A, CatalogArgument("b", "integer", is_required=False), volatility="i"),
    _function("over", _A),
    _function("over", CatalogArgument("a", "text")),
    _function("over", _A, CatalogArgument("b", "text")),
    _function("sentence", CatalogArgument("glue", "text"), CatalogArgument("words", "text[]", is_variadic=True), type_name=_TEXT, volatility="i"),
    _function("mixed", _A),
    _function("mixed", CatalogArgument("", "json"), type_name=("pg_catalog", "json")),
    _function("takes_text", CatalogArgument("", "text"), type_name=_TEXT),
    _function("takes_bytes", CatalogArgument("", "bytea"), type_name=("pg_catalog", "bytea")),
    _function("all_projects", returns=_ROWS, is_set=True, relation="projects", volatility="s"),
    _function("one_project", CatalogArgument("wanted", "integer"), returns=_ROWS, relation="projects", volatility="s"),
    _function("pairs", CatalogArgument("n", "integer"), returns=_ROWS, is_set=True, type_name=("pg_catalog", "record"), volatility="i"),
    _function("letters", is_set=True, type_name=_TEXT, volatility="i"),
    _function("nothing", returns=Returns.VOID, type_name=("pg_catalog", "void")),
    _function("apart", settings=_APART),
    _function("page", type_name=_public("text/html"), volatility="i"),
)  # fmt: skip


def _functions() -> dict[Name, tuple[CatalogFunction, ...]]:
    found: dict[Name, list[CatalogFunction]] = defaultdict(list)
    for each in FUNCTIONS:
        found[each.schema, each.name].append(each)
    return {name: tuple(overloads) for name, overloads in found.items()}


CATALOG = Catalog(
    version=1,
    relations={(each.schema, each.name): each for each in RELATIONS},
    relationships=_relationships(),
    functions=_functions(),
    computed_fields={_public("projects"): (ComputedField(_public("shout"), _public("projects"), "text"),)},
    representations=Representations(
        to_json={"public.color": _public("color_json")},
        from_json={"public.color": _public("color_of")},
        from_text={"public.color": _public("color_of")},
    ),
    media_handlers=(
        MediaHandler("application/x-lines", _public("as_lines"), _public("clients")),
        MediaHandler("text/html", _public("page"), None, is_scalar=True),
    ),
    schemas={"public": None},
    server_version=180000,
)
