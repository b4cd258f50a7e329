"""Which parts of statements are shown. Pure.

Statements contain secrets as constants: `create role ... password '...'`, `select vault.create_secret('...')`. pg_stat_statements replaces
the constants of queries by parameters, but not those of other statements, nor those of a query whose entry was made anew while it ran.
"""

import re

CONSTANT = "'...'"
_QUERIES = frozenset({"select", "insert", "update", "delete", "merge", "with", "values", "table"})
_COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/)", re.DOTALL)
_WORD = re.compile(r"[\s(;]*([A-Za-z]*)")
_TOKEN = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<name> "(?:[^"]|"")*(?:"|\Z) )
    | (?P<escaped> \b[eE]'(?:[^'\\]|''|\\.)*(?:'|\\?\Z) )
    | (?P<constant> (?:\b(?:[bBxXnN]|[uU]&))?'(?:[^']|'')*(?:'|\Z) )
    | (?P<dollar> (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z) )
    """,
    re.DOTALL | re.VERBOSE,
)
"""Constants, and what may contain a quote that begins none. A constant that is cut off reaches to the end of the text.
Sources: PostgreSQL, "Lexical Structure". A comment within a comment ends it: a pattern does not count."""


def first_word(text: str) -> str:
    """Return the first word of a statement in lower case, behind comments and parentheses; empty if there is none."""
    while comment := _COMMENT.match(text):
        text = text[comment.end() :]
    word = _WORD.match(text)
    return word[1].lower() if word else ""


def is_query(text: str) -> bool:
    """Return whether a statement is one that has a plan, and whose constants pg_stat_statements replaces by parameters."""
    return first_word(text) in _QUERIES


def without_constants(text: str) -> str:
    """Return a statement with `'...'` in place of its texts, and without its comments, which may contain anything."""
    return _TOKEN.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    if match["name"] is not None:
        return match[0]
    return " " if match["comment"] is not None else CONSTANT
