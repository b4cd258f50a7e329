"""Paths into the claims of a token, to find the database role. Pure.

A path that begins with `$` is a query of RFC 9535 (`json_path.py`): `$.role`, `$.a.b[0]`, `$['https://x/role'].key`,
`$.roles[?(@ == 'author')]`, `$.roles[-1]`. The older form has no `$`: `.role`, `."a b".c[0]`, `.roles[?(@ ^== "au")]`; here are its
rules. The first match is used. Source: docs/reference/rest.md, section 5.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from schemas.json_path import compile_json_path

_STEP = re.compile(
    r"""\.?"(?P<quoted>(?:[^"\\]|\\.)*)"            # ."a b"
      | \.(?P<name>[^.\[\]"']+)                     # .name
      | \[(?P<index>\d+)\]                          # [0]
      | \['(?P<single>(?:[^'\\]|\\.)*)'\]           # ['https://x/role']
      | \["(?P<double>(?:[^"\\]|\\.)*)"\]           # ["..."]
      | \[\?\(?\s*@\s*(?P<operator>==\^|\^==|\*==|==|!=)\s*(?P<operand>'[^']*'|"[^"]*")\s*\)?\]
    """,
    re.VERBOSE,
)

_TESTS: dict[str, Callable[[str, str], bool]] = {
    "==": str.__eq__,
    "!=": str.__ne__,
    "^==": str.startswith,
    "==^": str.endswith,
    "*==": str.__contains__,
}


@dataclass(frozen=True, slots=True)
class ClaimsPathStep:
    """One step of a path: a key, an index, or a test on the texts of a list."""

    key: str | int = ""
    test: str = ""
    operand: str = ""


ClaimsPath = Callable[[object], object]
"""Returns the claim at a path, or None."""


def parse_claims_path(text: str) -> ClaimsPath:
    """Parse a path.

    Raises: ValueError if it is malformed.
    """
    if text.startswith("$"):
        return compile_json_path(text)
    path = text if not text or text[0] in ".[" else "." + text
    steps: list[ClaimsPathStep] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if not match:
            raise ValueError(f"no JSON path: {text}")
        steps.append(_step(match))
        position = match.end()
    return lambda claims: _claim_at(claims, tuple(steps))


def _step(match: re.Match[str]) -> ClaimsPathStep:
    groups = match.groupdict()
    if groups["index"] is not None:
        return ClaimsPathStep(int(groups["index"]))
    if groups["operator"] is not None:
        return ClaimsPathStep(test=groups["operator"], operand=groups["operand"][1:-1])
    name = next(groups[kind] for kind in ("quoted", "name", "single", "double") if groups[kind] is not None)
    return ClaimsPathStep(name.replace("\\", "") if groups["name"] is None else name)


def _claim_at(claims: object, steps: tuple[ClaimsPathStep, ...]) -> object:
    value = claims
    for step in steps:
        if step.test:
            texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
            value = next((text for text in texts if _TESTS[step.test](text, step.operand)), None)
        elif isinstance(step.key, int):
            value = value[step.key] if isinstance(value, list) and step.key < len(value) else None
        else:
            value = value.get(step.key) if isinstance(value, dict) else None
    return value
