"""Find the import specifiers in a JavaScript or TypeScript source (pure): its text in, specifiers out.

    import x from "a"   import "b"   export * from "c"   import("d")   import type { T } from "e"   import f = require("g")

Why a lexer of our own, and not `deno info --json`, which prints a module graph:

- It must run before Deno opens anything. The sources are hostile; `boundary.py` decides from these specifiers whether a function
  may be started at all. `deno info` opens every file and host that the sources name while it builds the graph.
- It is needed to write the import map. Addresses on unreachable hosts are replaced first (`process_map.py`); `deno info` without
  that map contacts these hosts, and reports an error instead of what the module would have imported.
- It must tell when an import is computed (`is_open`), because then all sources of the function are followed (`sources.py`).
- A function without external imports then starts without a process beside its own.

How it works: the text is split into words, strings and signs, so that imports in comments, strings, templates and regular
expressions are not taken for code. A `/` begins a division or a regular expression; the token before it decides, and a wrong
guess affects only the rest of its line. The lexer need not be exact for security: the kernel denies files and the fetch proxy
denies addresses that it misses. Imports of types alone (`import type`) are marked, because the runtime never loads them.
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


class ImportKind(Enum):
    """How a module is imported."""

    STATIC = "static"
    DYNAMIC = "dynamic"
    TYPE = "type"
    """For types only: the runtime never loads the module."""


@dataclass(frozen=True, slots=True)
class Import:
    """One import of a source."""

    specifier: str
    kind: ImportKind = ImportKind.STATIC


@dataclass(frozen=True, slots=True)
class SourceImports:
    """All imports of a source. `is_open`: at least one specifier is computed at run time, so it is unknown."""

    imports: tuple[Import, ...]
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def imports_of(source: str) -> SourceImports:
    """Return what a source imports, in the order of the text."""
    tokens = list(_tokens(source))
    imports: list[Import] = []
    is_open = False
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.text not in ("import", "export"):
            continue
        if at and tokens[at - 1] in (_DOT, _PRIVATE):
            continue
        result = _import(tokens, at) if token.text == "import" else _export(tokens, at)
        if isinstance(result, Import):
            imports.append(result)
        else:
            is_open = is_open or result
    return SourceImports(tuple(imports), is_open)


_DOT, _PRIVATE = _Token("sign", "."), _Token("sign", "#")
_END = _Token("end", "")


def _import(tokens: list[_Token], at: int) -> Import | bool:
    """Read what follows `import`; return True for a computed import, False if it is not an import."""
    following = _at(tokens, at + 1)
    if following.kind == "text":
        return Import(following.text)
    if following.text == "(" and following.kind == "sign":
        argument, behind = _at(tokens, at + 2), _at(tokens, at + 3)
        if argument.kind == "text" and behind.text in (",", ")"):
            return Import(argument.text, ImportKind.DYNAMIC)
        return not (argument.text == ")" or behind.text == ":")  # a method named `import`
    return _from(tokens, at + 1)


def _export(tokens: list[_Token], at: int) -> Import | bool:
    following = _at(tokens, at + 1)
    is_type = following == _Token("word", "type")
    first = _at(tokens, at + 2) if is_type else following
    return _from(tokens, at + 1) if first.kind == "sign" and first.text in "{*" else False


def _from(tokens: list[_Token], at: int) -> Import | bool:
    """Read an import clause up to the specifier after its `from`; return False if it is not an import clause."""
    kind = ImportKind.STATIC
    if _at(tokens, at) == _Token("word", "type"):
        behind = _at(tokens, at + 1)
        names_type = behind.text == "," or (
            behind == _Token("word", "from") and _at(tokens, at + 2).kind == "text"
        )
        kind = ImportKind.STATIC if names_type else ImportKind.TYPE
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
    """Split a text into tokens. A template without `${` is a string token; of one with `${` only the embedded code is returned."""
    at, last = 0, _END
    depth: list[int] = []  # one entry for each open template: braces open inside its `${`
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
        match = _TOKEN.match(source, at)
        assert match is not None  # its last alternative matches any character
        at = match.end()
        if match.lastgroup == "blank":
            continue
        if depth and match[0] in "{}" and match.lastgroup == "sign":
            depth[-1] += 1 if match[0] == "{" else -1
        text = _unescaped(match[0][1:].rstrip(match[0][0])) if match.lastgroup == "text" else match[0]
        last = _Token(str(match.lastgroup), text)
        yield last


def _may_begin_regex(last: _Token) -> bool:
    if last.kind == "word":
        return last.text in _BEFORE_REGEX
    return last.kind == "end" or (last.kind == "sign" and last.text not in ")]}")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_sign, text) if "\\" in text else text


def _sign(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return escape[4]
    number = int(code, 16)
    return chr(number) if number <= _HIGHEST else ""
