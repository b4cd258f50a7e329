"""Find calls in the expression of a policy that run once a row, and wrap them in a subquery. Pure.

Postgres evaluates `(select auth.uid())` once a statement (an InitPlan), because the subquery refers to no row. A call is wrapped
if one of the parentheses around it begins with SELECT and that subquery has no FROM. Expressions are those of `pg_get_expr`.
"""

import re

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[()]|\bfrom\b", re.IGNORECASE)
_CALL = re.compile(
    r"(?<![\w.\"])(?:auth\.(?:uid|jwt|role|email)\(\)"
    r"|current_setting\('(?:[^']|'')*'::text(?:, (?:true|false))?\))"
)
_SELECT = re.compile(r"\(\s*select\b", re.IGNORECASE)


def wrap_row_calls(expression: str) -> str:
    """Return the expression with every call that runs once a row within `(select ...)`; the same text if there is none."""
    wrapped = [(start, end) for start, end in _subqueries(expression)]
    texts = _quoted_ranges(expression)

    def replacement(match: re.Match[str]) -> str:
        position = match.start()
        is_wrapped = any(start < position < end for start, end in wrapped)
        is_text = any(start < position < end for start, end in texts)
        return match[0] if is_wrapped or is_text else f"(select {match[0]})"

    return _CALL.sub(replacement, expression)


def _subqueries(expression: str) -> list[tuple[int, int]]:
    """Return start and end of the subqueries that have no FROM of their own."""
    open_groups: list[list[int]] = []
    subqueries: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(expression):
        text = token[0]
        if text == "(":
            open_groups.append([token.start(), 0])
        elif text == ")" and open_groups:
            start, has_from = open_groups.pop()
            if not has_from and _SELECT.match(expression, start):
                subqueries.append((start, token.start()))
        elif text.lower() == "from" and open_groups:
            open_groups[-1][1] = 1
    return subqueries


def _quoted_ranges(expression: str) -> list[tuple[int, int]]:
    return [(token.start(), token.end()) for token in _TOKEN.finditer(expression) if token[0][0] in "'\""]
