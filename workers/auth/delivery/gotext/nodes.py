"""What a template is made of, once it is read. Data only.

A template is a list of nodes. An action computes a pipe: commands joined by `|`, each of which hands its value to the
next as its last argument. Source: the package documentation of Go's text/template.
"""

from dataclasses import dataclass
from enum import StrEnum


class TemplateRefused(Exception):
    """The template cannot be used: what is wrong and in which line, in words."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class Place(StrEnum):
    """Where in HTML a value stands; it decides how the value is escaped."""

    TEXT = "text"
    """Between tags, or within a quoted attribute."""
    BARE = "bare"
    """An attribute without quotes: a blank would end it."""
    URL = "url"
    """An address before its `?`: what stands before the value may turn out empty, and a scheme must not run code."""
    BARE_URL = "bare_url"
    """The same in an attribute without quotes."""
    QUERY = "query"
    """Behind the `?` or `#` of an address."""
    ESCAPED = "escaped"
    """Where the template escapes by itself."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written in the template."""

    value: object


@dataclass(frozen=True, slots=True)
class Field:
    """`.A.B` of the dot (`variable` is None), or `$x.A.B` of a variable; `$` is the root."""

    variable: str | None
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Nested:
    """A pipe in brackets, with fields of its value."""

    pipe: "Pipe"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments."""

    function: str
    arguments: tuple["Term", ...]


Term = Literal | Field | Nested | Call


@dataclass(frozen=True, slots=True)
class Pipe:
    """Commands from left to right; `assigns` names the variables that take the value, `declares` that they are new."""

    commands: tuple[Term, ...]
    assigns: tuple[str, ...] = ()
    declares: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """Text that stands as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """`{{ pipe }}`: the value is written, escaped for its place."""

    pipe: Pipe
    place: Place


@dataclass(frozen=True, slots=True)
class If:
    """`{{ if }}`, or `{{ with }}`, which also makes the value the dot."""

    pipe: Pipe
    then: tuple["Node", ...]
    otherwise: tuple["Node", ...]
    binds_dot: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """`{{ range }}`: its body once for each element, the other branch when there is none."""

    pipe: Pipe
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]


Node = Text | Output | If | Range
