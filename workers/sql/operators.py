"""Every filter operator: its name, its SQL, what its operand may be, which interfaces offer it.

Pure. One row per operator; REST and GraphQL use this table. Source: docs/reference/rest.md, section 7.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operator:
    """One filter operator.

    `quantifiable` takes `(any)` and `(all)`; `takes_config` a text search configuration; `is_pattern` reads `*` as `%`;
    `function` wraps the operand (`to_tsquery`); `converts` lets a domain's text representation apply to the operand.
    """

    name: str
    sql: str
    quantifiable: bool = False
    takes_config: bool = False
    is_pattern: bool = False
    function: str | None = None
    converts: bool = True

    @property
    def compares(self) -> bool:
        """Whether both sides may be columns."""
        return self.function is None and self.name not in ("in", "is")


_ALL = (
    Operator("eq", "=", quantifiable=True),
    Operator("gte", ">=", quantifiable=True),
    Operator("gt", ">", quantifiable=True),
    Operator("lte", "<=", quantifiable=True),
    Operator("lt", "<", quantifiable=True),
    Operator("neq", "<>"),
    Operator("like", "like", quantifiable=True, is_pattern=True, converts=False),
    Operator("ilike", "ilike", quantifiable=True, is_pattern=True, converts=False),
    Operator("match", "~", quantifiable=True, converts=False),
    Operator("imatch", "~*", quantifiable=True, converts=False),
    Operator("in", "= any"),
    Operator("is", "is", converts=False),
    Operator("isdistinct", "is distinct from", converts=False),
    Operator("fts", "@@", takes_config=True, function="to_tsquery", converts=False),
    Operator("plfts", "@@", takes_config=True, function="plainto_tsquery", converts=False),
    Operator("phfts", "@@", takes_config=True, function="phraseto_tsquery", converts=False),
    Operator("wfts", "@@", takes_config=True, function="websearch_to_tsquery", converts=False),
    Operator("cs", "@>"),
    Operator("cd", "<@"),
    Operator("ov", "&&"),
    Operator("sl", "<<"),
    Operator("sr", ">>"),
    Operator("nxr", "&<"),
    Operator("nxl", "&>"),
    Operator("adj", "-|-"),
)

OPERATORS: dict[str, Operator] = {operator.name: operator for operator in _ALL}

IS_WORDS: dict[str, str] = {
    "null": "null",
    "not_null": "not null",
    "true": "true",
    "false": "false",
    "unknown": "unknown",
}
"""Operands of `is` and their SQL."""


def array_literal(items: list[str] | tuple[str, ...]) -> str:
    """Return texts as a Postgres array literal with every element quoted."""
    quoted = ('"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"' for item in items)
    return "{" + ",".join(quoted) + "}"


def like_pattern(text: str) -> bytes:
    """Convert the wildcard of URLs to the one of SQL."""
    return text.replace("*", "%").encode()
