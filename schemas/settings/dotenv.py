"""Parse `.env` files (pure): `NAME=value` lines, as far as settings and functions need them.

Accepts `export` before a name, `#` comments, single quotes (without escapes), double quotes (with `\\n`, `\\r`, `\\t`, `\\"`,
`\\\\`, `\\$`) and values of several lines inside quotes. Variables inside a value are not expanded.
"""

import re

_ASSIGNMENT = re.compile(
    r"""
    [^\S\n]* (?:export[^\S\n]+)? (?P<name>[A-Za-z_][A-Za-z0-9_.]*) [^\S\n]* = [^\S\n]*
    (?:
        ' (?P<single>[^']*) '      [^\S\n]* (?:\#[^\n]*)?
      | " (?P<double>(?:[^"\\]|\\.)*) " [^\S\n]* (?:\#[^\n]*)?
      | (?P<plain>[^'"\n][^\n]*)?
    )
    (?:\n|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANK = re.compile(r"[^\S\n]*(?:\#[^\n]*)?(?:\n|\Z)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def parse_dotenv(text: str, source: str = ".env") -> tuple[dict[str, str], list[str]]:
    """Return the values of an env file, with a warning for each line that is not NAME=value."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    values: dict[str, str] = {}
    warnings: list[str] = []
    at = 0
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = max(blank.end(), at + 1)
        elif match := _ASSIGNMENT.match(text, at):
            values[match["name"]] = _value(match)
            at = match.end()
        else:
            warnings.append(
                f"{source} line {text.count(chr(10), 0, at) + 1} is not NAME=value and is ignored"
            )
            end = text.find("\n", at)
            at = len(text) if end < 0 else end + 1
    return values, warnings


def _value(match: re.Match[str]) -> str:
    if match["single"] is not None:
        return match["single"]
    if match["double"] is not None:
        return _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), match["double"])
    plain = match["plain"] or ""
    return re.split(r"(?:^|\s)#", plain, maxsplit=1)[0].strip()
