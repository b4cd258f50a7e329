"""Which modules a JavaScript or TypeScript source imports (pure): its text in, specifiers out.

    import x from "a"   import "b"   export * from "c"   import("d")   import type { T } from "e"   import f = require("g")

The text is taken apart into words, strings and signs, so that comments, strings, templates and regular expressions are
not read as code. Where a `/` may begin either a division or an expression, what stands before it decides; a wrong guess
costs no more than its line. What types alone need (`import type`) is erased by the runtime, and marked here.
Source: ECMA-262, chapters 12 (lexical grammar) and 16.2 (modules); TypeScript handbook, "Modules".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

_TOKEN = re.compile(
    r"""
      (?P<blank>   [\s\ufeff]+ | //[^\n]* | /\*.*?(?:\*/|\Z) | \A\#![^\n]* )
    | (?P<text>    "(?:[^"\\\n]|\\.)*"? | '(?:[^'\\\n]|\\.)*'? )
    | (?P<word>    [A-Za-z_$\u0080-\U0010ffff][\w$\u0080-\U0010ffff]* )
    | (?P<number>  \d[\w.]* )
    | (?P<sign>    . )
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[A-Za-z]*")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
_BEFORE_REGEX = frozenset(
    [
        "return",
        "typeof",
        "case",
        "in",
        "of",
        "delete",
        "void",
        "throw",
        "new",
        "do",
        "else",
        "instanceof",
        "yield",
        "await",
        "default",
    ]
)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\}|(.))", re.DOTALL)
_CLAUSE_SIGNS = frozenset("{},*")
_LONGEST_CLAUSE = 2_000
_HIGHEST = 0x10FFFF


class Kind(Enum):
    """How a module is imported."""

    STATIC = "static"
    DYNAMIC = "dynamic"
    TYPE = "type"
    """For its types alone: the runtime never loads it."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import of a source."""

    specifier: str
    kind: Kind = Kind.STATIC


@dataclass(frozen=True, slots=True)
class Imports:
    """All imports of a source. `is_open`: one is computed when the source runs, so nobody knows what it names."""

    found: tuple[Import, ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def imports_of(source: str) -> Imports:
    """Give what a source imports, in the order of the text."""
    tokens = list(_tokens(source))
    found: list[Import] = []
    is_open = False
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.text not in ("import", "export"):
            continue
        if at and tokens[at - 1] in (_DOT, _PRIVATE):
            continue
        one = _import(tokens, at) if token.text == "import" else _export(tokens, at)
        if isinstance(one, Import):
            found.append(one)
        else:
            is_open = is_open or one
    return Imports(tuple(found), is_open)


_DOT, _PRIVATE = _Token("sign", "."), _Token("sign", "#")
_END = _Token("end", "")


def _import(tokens: list[_Token], at: int) -> Import | bool:
    """Read what stands behind `import`; True for a computed import, False for none."""
    following = _at(tokens, at + 1)
    if following.kind == "text":
        return Import(following.text)
    if following.text == "(" and following.kind == "sign":
        argument, behind = _at(tokens, at + 2), _at(tokens, at + 3)
        if argument.kind == "text" and behind.text in (",", ")"):
            return Import(argument.text, Kind.DYNAMIC)
        return not (argument.text == ")" or behind.text == ":")  # a method of that name
    return _from(tokens, at + 1)


def _export(tokens: list[_Token], at: int) -> Import | bool:
    following = _at(tokens, at + 1)
    is_type = following == _Token("word", "type")
    first = _at(tokens, at + 2) if is_type else following
    return _from(tokens, at + 1) if first.kind == "sign" and first.text in "{*" else False


def _from(tokens: list[_Token], at: int) -> Import | bool:
    """Read a clause up to the text behind its `from`; False if it is none."""
    kind = Kind.STATIC
    if _at(tokens, at) == _Token("word", "type"):
        behind = _at(tokens, at + 1)
        names_type = behind.text == "," or (
            behind == _Token("word", "from") and _at(tokens, at + 2).kind == "text"
        )
        kind = Kind.STATIC if names_type else Kind.TYPE
    for index in range(at, min(at + _LONGEST_CLAUSE, len(tokens))):
        token, behind = tokens[index], _at(tokens, index + 1)
        if token == _Token("word", "from") and behind.kind == "text":
            return Import(behind.text, kind)
        if token.text == "=" and behind == _Token("word", "require"):
            named = _at(tokens, index + 3)
            return Import(named.text, kind) if named.kind == "text" else False
        if token.kind == "sign" and token.text not in _CLAUSE_SIGNS:
            return False
    return False


def _at(tokens: list[_Token], index: int) -> _Token:
    return tokens[index] if index < len(tokens) else _END


def _tokens(source: str) -> Iterator[_Token]:
    """Take a text apart. A template without `${` is a text; one with it gives its inner code, and no text."""
    at, last = 0, _END
    depth: list[int] = []  # open braces inside each template that we are in
    while at < len(source):
        sign = source[at]
        if sign == "`" or (sign == "}" and depth and depth[-1] == 0):
            begins = sign == "`"
            inner = _TEMPLATE.match(source, at + 1)
            assert inner is not None  # it matches the empty text
            at = inner.end() + 1
            if source.startswith("${", inner.end()):
                at += 1
                if begins:
                    depth.append(0)
                last = _Token("sign", "(")
            else:
                if not begins:
                    depth.pop()
                last = _Token("text", _unescaped(inner[0])) if begins else _Token("number", "")
                yield last
            continue
        is_comment = source.startswith(("//", "/*"), at)
        if sign == "/" and not is_comment and _may_begin_regex(last) and (regex := _REGEX.match(source, at)):
            at, last = regex.end(), _Token("number", "")
            yield last
            continue
        found = _TOKEN.match(source, at)
        assert found is not None  # its last alternative is any sign
        at = found.end()
        if found.lastgroup == "blank":
            continue
        if depth and found[0] in "{}" and found.lastgroup == "sign":
            depth[-1] += 1 if found[0] == "{" else -1
        text = _unescaped(found[0][1:].rstrip(found[0][0])) if found.lastgroup == "text" else found[0]
        last = _Token(str(found.lastgroup), text)
        yield last


def _may_begin_regex(last: _Token) -> bool:
    if last.kind == "word":
        return last.text in _BEFORE_REGEX
    return last.kind == "end" or (last.kind == "sign" and last.text not in ")]}")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_sign, text) if "\\" in text else text


def _sign(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code is None:
        return found[4]
    number = int(code, 16)
    return chr(number) if number <= _HIGHEST else ""
