"""Types that a caller may not name in a cast. Pure.

The input function of some types looks into the system catalog: `'x'::regclass` fails if there is no relation `x`, whatever
the caller's rights are, so a text that the caller has stored tells relations, roles and functions apart. Pseudo-types have no
values; PostgreSQL refuses them in various ways, some of which are internal errors.
"""

_LOOK_UP = frozenset((
    "regclass", "regcollation", "regconfig", "regdatabase", "regdictionary", "regnamespace", "regoper", "regoperator",
    "regproc", "regprocedure", "regrole", "regtype", "aclitem",
))  # fmt: skip
_PSEUDO = frozenset((
    "any", "anyarray", "anycompatible", "anycompatiblearray", "anycompatiblemultirange", "anycompatiblenonarray",
    "anycompatiblerange", "anyelement", "anyenum", "anymultirange", "anynonarray", "anyrange", "cstring", "event_trigger",
    "fdw_handler", "index_am_handler", "internal", "language_handler", "pg_ddl_command", "record", "table_am_handler",
    "trigger", "tsm_handler", "unknown", "void",
))  # fmt: skip
_OTHERS = frozenset(("setof", "pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list", "pg_brin_bloom_summary",
                     "pg_brin_minmax_multi_summary", "gtsvector"))  # fmt: skip
"""No type, and types without input."""
_CLOSED = _LOOK_UP | _PSEUDO | _OTHERS


def is_closed(name: str) -> bool:
    """Return whether a cast may not name a type; `_x` is the array of `x`, and case does not matter."""
    return any(word.removeprefix("_") in _CLOSED for word in name.lower().split())
