"""The syntax tree of a template. Data only.

A template is a list of nodes. An action evaluates a pipeline: commands joined by `|`, each of which passes its value to the
next one as the last argument. Source: the package documentation of Go's text/template.
"""

from dataclasses import dataclass
from enum import StrEnum


class TemplateError(Exception):
    """A template has an error: the line, and a message for its author."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class HtmlContext(StrEnum):
    """Where in HTML a value is written; it decides how the value is escaped."""

    TEXT = "text"
    """Between tags, or within a quoted attribute."""
    BARE = "bare"
    """An attribute without quotes: a blank would end it."""
    URL = "url"
    """A URL before its `?`. The value may be its start, so a scheme that runs code must not pass."""
    BARE_URL = "bare_url"
    """The same in an attribute without quotes."""
    QUERY = "query"
    """Behind the `?` or `#` of an address."""
    ESCAPED = "escaped"
    """The template escapes the value itself, by the function `html`."""


@dataclass(frozen=True, slots=True)
class LiteralTerm:
    """A constant of the template."""

    value: object


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """`.A.B` of the dot (`variable` is None), or `$x.A.B` of a variable; `$` is the root."""

    variable: str | None
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NestedTerm:
    """A pipeline in brackets, with fields of its value."""

    pipe: "TemplatePipeline"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallTerm:
    """A function with its arguments."""

    function: str
    arguments: tuple["Term", ...]


Term = LiteralTerm | FieldTerm | NestedTerm | CallTerm


@dataclass(frozen=True, slots=True)
class TemplatePipeline:
    """Commands from left to right; `assigns` names the variables that take the value, `declares` that they are new."""

    commands: tuple[Term, ...]
    assigns: tuple[str, ...] = ()
    declares: bool = False


@dataclass(frozen=True, slots=True)
class TemplateText:
    """Text that is written unchanged."""

    text: str


@dataclass(frozen=True, slots=True)
class OutputNode:
    """`{{ pipeline }}`: the value is written, escaped for its context."""

    pipe: TemplatePipeline
    place: HtmlContext


@dataclass(frozen=True, slots=True)
class IfNode:
    """`{{ if }}`, or `{{ with }}`, which also makes the value the dot."""

    pipe: TemplatePipeline
    then: tuple["Node", ...]
    otherwise: tuple["Node", ...]
    binds_dot: bool = False


@dataclass(frozen=True, slots=True)
class RangeNode:
    """`{{ range }}`: its body once for each element, the other branch when there is none."""

    pipe: TemplatePipeline
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]


Node = TemplateText | OutputNode | IfNode | RangeNode
