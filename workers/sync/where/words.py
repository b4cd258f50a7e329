"""Which operators, functions and types an expression may use: those of pg_catalog whose result depends on nothing else. Tables, pure.

`now()` and its like are left out: a row would enter or leave a shape without a change in the log. So are functions that can
take long or return much for little, and regular expressions. Source: docs/sync.md.
"""

COMPARISONS = frozenset({"=", "<>", "!=", "<", "<=", ">", ">="})
OPERATORS = {
    **dict.fromkeys(COMPARISONS, 5),
    **dict.fromkeys(("||", "@>", "<@", "&&", "&", "|", "#", "->", "->>", "~~", "~~*", "!~~", "!~~*"), 7),
    "+": 8,
    "-": 8,
    "*": 9,
    "/": 9,
    "%": 9,
    "^": 10,
}
"""Operators between two operands, and how strongly they bind (PostgreSQL, "Operator Precedence")."""
PREFIXES = frozenset({"+", "-", "~", "@", "|/"})
"""Operators before one operand."""

FUNCTIONS = frozenset({
    "abs", "array_append", "array_cat", "array_length", "array_ndims", "array_prepend", "btrim", "cardinality", "ceil",
    "char_length", "character_length", "coalesce", "concat", "floor", "greatest", "ilike", "justify_days", "justify_hours",
    "justify_interval", "least", "left", "length", "like", "lower", "ltrim", "mod", "nullif", "octet_length", "right", "round",
    "rtrim", "sign", "sqrt", "starts_with", "strpos", "substr", "timezone", "trunc", "upper",
})  # fmt: skip
OF_THE_GRAMMAR = frozenset({"coalesce", "greatest", "least", "nullif"})
"""Functions that are not in a schema."""
OPERATOR_FUNCTIONS = {"like": "~~", "ilike": "~~*"}
"""Functions that are written as operators here: pg_catalog has no `ilike`."""

TYPES = {
    name: name
    for name in (
        "bool", "boolean", "int2", "smallint", "int4", "int", "integer", "int8", "bigint", "float4", "real", "float8", "numeric",
        "decimal", "text", "varchar", "char", "bpchar", "name", "uuid", "date", "time", "timestamp", "timestamptz", "timetz",
        "interval", "bytea", "json", "jsonb",
    )
}  # fmt: skip
LONG_TYPES = {
    ("double", "precision"): "double precision",
    ("character", "varying"): "character varying",
    ("timestamp", "with", "time", "zone"): "timestamptz",
    ("timestamp", "without", "time", "zone"): "timestamp",
    ("time", "with", "time", "zone"): "timetz",
    ("time", "without", "time", "zone"): "time",
}
"""Types of several words."""

RESERVED = frozenset({
    "all", "and", "any", "array", "as", "asc", "between", "case", "cast", "collate", "cross", "current_date", "current_time",
    "current_timestamp", "current_user", "desc", "distinct", "else", "end", "except", "exists", "false", "for", "from", "full",
    "group", "having", "ilike", "in", "inner", "intersect", "into", "is", "isnull", "join", "lateral", "left", "like", "limit",
    "localtime", "localtimestamp", "natural", "not", "notnull", "null", "offset", "on", "or", "order", "outer", "overlaps",
    "right", "select", "session_user", "similar", "some", "symmetric", "table", "then", "to", "true", "union", "user", "using",
    "when", "where", "window", "with",
})  # fmt: skip
"""Names that are no columns unless they are quoted."""
