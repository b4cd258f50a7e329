"""Leads a statement to the copy of a table: `public.notes` becomes `pg_temp.notes`. Pure.

The copy is a temporary table of the same name, which a name without a schema means already (PostgreSQL, "search_path"). A name in a view
or a function that the statement uses is not reached; the plan shows that.
"""

import re

from workers.sql.compose import quoted

_TOKEN = re.compile(
    r"""
    (?P<space> \s+ | --[^\n]* | /\*.*?\*/ )
    | (?P<text> \b[eE]'(?:[^'\\]|''|\\.)*' | '(?:[^']|'')*' | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$ )
    | (?P<name> "(?:[^"]|"")*" | [^\W\d][\w$]* )
    | (?P<number> \$?\d[\w.]* )
    | (?P<sign> . )
    """,
    re.DOTALL | re.VERBOSE,
)
_BACK = 2
"""A name with its schema ends two tokens before the end of `schema . table`."""


def with_copied_table(text: str, schema: str, table: str) -> str:
    """Return a statement with the copy in place of a table that is named with its schema; functions of that name stay."""
    tokens = [match for match in _TOKEN.finditer(text) if match["space"] is None]
    pieces, end = [], 0
    for index, token in enumerate(tokens):
        if _name(token) != schema or (index > 0 and tokens[index - 1][0] == "."):
            continue
        following = tokens[index + 1 : index + 2 + _BACK]
        if len(following) < _BACK or following[0][0] != "." or _name(following[1]) != table:
            continue
        if len(following) > _BACK and following[_BACK][0] == "(" and not _is_list(tokens, index):
            continue
        pieces += [text[end : token.start()], f"pg_temp.{quoted(table)}"]
        end = following[1].end()
    return "".join([*pieces, text[end:]])


def _is_list(tokens: list[re.Match[str]], index: int) -> bool:
    """Return whether a parenthesis after a name begins columns, as in `insert into public.notes (a)`."""
    return index > 0 and tokens[index - 1][0].lower() == "into"


def _name(token: re.Match[str]) -> str | None:
    """Return the name that a token means; None for what is no name."""
    if token["name"] is None:
        return None
    return token[0][1:-1].replace('""', '"') if token[0].startswith('"') else token[0].lower()
