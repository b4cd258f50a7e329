"""Template text -> pieces: the text between actions, and actions as tokens.

`{{- ` and ` -}}` remove the white space before and after them; a comment is a piece without tokens.
Source: the package documentation of Go's text/template, "Text and spaces".
"""

import re
from dataclasses import dataclass

from workers.auth.delivery.gotext.nodes import TemplateError

_OPEN, _CLOSE = "{{", "}}"
_TRIM = re.compile(r"-\s")
_END = re.compile(r"\s+-}}|\s*}}")
_COMMENT = re.compile(r"(?:-\s+)?/\*.*?\*/(?=\s*}}|\s+-}})", re.DOTALL)
_NAME = r"[^\W\d]\w*"
_TOKEN = re.compile(
    rf"""(?P<string>"(?:\\.|[^"\\\n])*")|(?P<raw>`[^`]*`)|(?P<number>[+-]?\d[\d.eE+-]*)"""
    rf"""|(?P<field>(?:\.{_NAME})+)|(?P<variable>\$\w*(?:\.{_NAME})*)|(?P<dot>\.)|(?P<word>{_NAME})"""
    rf"""|(?P<open>\()|(?P<close>\)(?:\.{_NAME})*)|(?P<mark>:=|[=|,])|(?P<space>\s+)"""
)


@dataclass(frozen=True, slots=True)
class TemplateToken:
    """One token of an action. `kind` is its lexical class: string, raw, number, field, variable, dot, word, ..."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class TemplatePiece:
    """The text before an action, and the action's tokens: None behind the last action, empty for a comment."""

    text: str
    tokens: tuple[TemplateToken, ...] | None
    line: int


def pieces_of(template: str) -> list[TemplatePiece]:
    """Cut a template into pieces. Raises: TemplateError."""
    pieces: list[TemplatePiece] = []
    at, line, trims = 0, 1, False
    while (start := template.find(_OPEN, at)) >= 0:
        text = template[at:start]
        line += text.count("\n")
        inside = start + len(_OPEN)
        trimmed = text.lstrip() if trims else text
        if _TRIM.match(template, inside):
            trimmed = trimmed.rstrip()
        tokens, end, trims = _action(template, inside, line)
        pieces.append(TemplatePiece(trimmed, tokens, line))
        line += template.count("\n", start, end)
        at = end
    rest = template[at:]
    return [*pieces, TemplatePiece(rest.lstrip() if trims else rest, None, line)]


def _action(template: str, at: int, line: int) -> tuple[tuple[TemplateToken, ...], int, bool]:
    """Read from behind `{{` to behind `}}`. Return the tokens, the end, and whether white space behind is trimmed."""
    if comment := _COMMENT.match(template, at):
        at = comment.end()
    elif _TRIM.match(template, at):
        at += 1
    tokens: list[TemplateToken] = []
    while True:
        if end := _END.match(template, at):
            return tuple(tokens), end.end(), end[0].endswith("-" + _CLOSE)
        match = _TOKEN.match(template, at)
        if match is None:
            raise TemplateError(line, _unread(template, at))
        kind = str(match.lastgroup)
        if tokens and kind not in ("space", "mark", "close") and _touches(template, at):
            raise TemplateError(line, f"there is a blank missing before {match[0][:20]!r}")
        if kind != "space":
            tokens.append(TemplateToken(kind, match[0]))
        at = match.end()


def _touches(template: str, at: int) -> bool:
    before = template[at - 1]
    return not (before.isspace() or before in "(|,=")


def _unread(template: str, at: int) -> str:
    if at >= len(template) or _CLOSE not in template[at:]:
        return "an action is opened by {{ and never closed by }}"
    return f"{template[at]!r} is not understood within an action"
