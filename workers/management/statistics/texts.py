"""Which texts of statements are shown. Pure.

pg_stat_statements replaces the constants of queries by parameters, but not those of other statements: `create role ... password`
or `create subscription ... connection` stand there as they were sent. Of such a statement only the first word is shown.
"""

import re

_QUERIES = frozenset({"select", "insert", "update", "delete", "merge", "with", "values", "table"})
_COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/)", re.DOTALL)
_WORD = re.compile(r"[\s(;]*([A-Za-z]*)")


def first_word(text: str) -> str:
    """Return the first word of a statement in lower case, behind comments and parentheses; empty if there is none."""
    while comment := _COMMENT.match(text):
        text = text[comment.end() :]
    word = _WORD.match(text)
    return word[1].lower() if word else ""


def is_query(text: str) -> bool:
    """Return whether a statement is one whose constants were replaced by parameters."""
    return first_word(text) in _QUERIES


def shown_text(text: str) -> str:
    """Return the text of a statement of pg_stat_statements as readers may see it."""
    return (
        text
        if is_query(text)
        else f"{first_word(text)} (the rest of this statement is not shown: it may contain secrets)"
    )
