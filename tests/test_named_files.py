"""What docstrings of the product name is there: files, modules, names of the code, arguments, errors behind `Raises:`. And what the
product defines is used.
"""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_PACKAGES = ("services", "broker", "schemas", "workers")
_READ = (".py", ".sql", ".toml", ".ts", ".tsx", ".js", ".mjs", ".json", ".md", ".yaml", ".control", ".txt")
_WORD = re.compile(r"[A-Za-z_]\w*")
_FILE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|sql|md))`|\(((?:[\w-]+/)+[\w-]+\.(?:py|sql|md))\)")
_MODULE = re.compile(rf"\b(?:{'|'.join(_PACKAGES)})(?:\.\w+)+")
_OF_CODE = re.compile(r"`([a-z][a-z0-9]*_\w+|_\w+|[A-Z]\w*\.\w+)(?:\(\))?`")
"""A name with an underscore, or of a member of a class, alone between backticks."""
_SUBJECT = re.compile(r"(?:^|[.;]\s+|\n\s*)`([a-z]\w*)`(?=:| is | are | has | names | takes | gives )")
"""A name with which a sentence about an argument, or a field of one, begins."""
_RAISES = re.compile(r"Raises: ((?:[^\n]|\n(?!\s*\n))*)")
_ERROR = re.compile(r"(?<![\w.])[A-Z][a-z]+[A-Z]\w+")
_OF_OTHERS = frozenset({
    "PROTOCOL.md",  # of graphql-ws
    "arg_start", "arg_end", "f_type", "get_mm_proctitle", "tcpi_bytes_acked", "tcpi_notsent_bytes",  # of the kernel
    "publish_async", "dec_hook", "pg_snapshot", "recently_deleted", "expired_handle",  # of libraries and clients
    "blog_posts", "_x", "_int4",  # examples
})  # fmt: skip
"""Names that docstrings explain and the code does not use."""


_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_STATEMENT = re.compile(r"^-- name: (\w+)", re.MULTILINE)
_RUN_WHOLE = ("workers/project/lint.sql", "workers/project/diff/snapshot.sql")
"""Files whose statements are all run, whatever their names are."""
_CALLED_BY_OTHERS = frozenset({
    "commit_table",  # of pyiceberg's Catalog
    "load_table",
    "handle_error", "pause_writing", "eof_received",  # aiohttp and asyncio
    "handle_DATA", "handle_MAIL", "handle_starttag", "handle_endtag", "handle_data",  # aiosmtpd, html.parser
    "get_command", "list_commands",  # click
    "redirect_request",  # urllib
    "enter_inline_fragment", "leave_operation_definition", "get_implementations", "is_sub_type",  # graphql-core
    "bind_oauth", "bind_saml", "store_factors", "store_sessions", "store_providers",  # names put together
    "checksummed", "to_base58", "with_method", "without_second_factors", "is_count", "reset_repeats",  # tests
})  # fmt: skip
"""What is defined and not named by the product's code."""


class Docstring(NamedTuple):
    """A docstring, or the string below a constant or a field, and where it begins."""

    path: PurePosixPath
    line: int
    text: str
    is_of_function: bool


class Product(NamedTuple):
    """The docstrings of the product, the names of each module's code, and every word of the other files and of code."""

    docstrings: list[Docstring]
    of_module: dict[str, set[str]]
    words: set[str]
    used: set[str]
    """Names of code but those of functions and classes where they are defined, and words of strings and of scripts."""
    defined: list[Docstring]
    """Functions, classes and named statements of SQL; `text` is the name."""


@cache
def _paths() -> list[PurePosixPath]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted(map(PurePosixPath, listed.stdout.splitlines()))


@cache
def _product() -> Product:
    product = Product([], {}, set(_OF_OTHERS), set(), [])
    for path in _paths():
        product.words.update(_WORD.findall(str(path)))
        if path.parts[0] == "scripts" or path.suffix == ".toml":
            product.used.update(_WORD.findall((ROOT / path).read_text()))
        if (
            path.parts[0] in ("tests", "CHANGELOG.md")
            or path.suffix not in _READ
            or not (ROOT / path).is_file()
        ):
            continue
        text = (ROOT / path).read_text()
        if path.suffix != ".py":
            product.words.update(_WORD.findall(text))
            if path.suffix == ".sql" and path.parts[0] == "workers" and str(path) not in _RUN_WHOLE:
                product.defined.extend(Docstring(path, 0, name, False) for name in _STATEMENT.findall(text))
            continue
        tree = ast.parse(text)
        strings = list(_strings(tree))
        of_functions = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(node.body[0], ast.Expr)
        }
        names = set(_names(tree, {id(string) for string in strings}))
        definitions = [node for node in ast.walk(tree) if isinstance(node, _DEFINITIONS)]
        product.used.update(node.name for node in definitions if _is_registered(node))
        product.used.update(names)
        names.update(node.name for node in definitions)
        product.words.update(names)
        if path.parts[0] in _PACKAGES:
            product.defined.extend(Docstring(path, node.lineno, node.name, False) for node in definitions)
            product.docstrings.extend(
                Docstring(path, string.lineno, str(string.value), id(string) in of_functions)
                for string in strings
            )
            product.of_module[_module_name(path)] = names
    return product


def _is_registered(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Return whether a decorator with arguments takes it, as that of a command."""
    return any(isinstance(decorator, ast.Call) for decorator in node.decorator_list)


def _module_name(path: PurePosixPath) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _strings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the strings that are statements."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.value


def _names(tree: ast.Module, docstrings: set[int]) -> Iterator[str]:
    """Yield what the code names, but for what it defines, and the words of its strings."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield from _WORD.findall(text)
            case ast.Constant(value=bytes(text)):
                yield from _WORD.findall(text.decode("latin-1"))


def _reported(docstring: Docstring, name: str) -> str:
    return f"{docstring.path}:{docstring.line}: {name}"


def test_a_file_that_a_docstring_names_is_there() -> None:
    names = {path.name for path in _paths()} | _OF_OTHERS
    ends = {PurePosixPath(*path.parts[start:]) for path in _paths() for start in range(len(path.parts))}
    missing = [
        _reported(docstring, name)
        for docstring in _product().docstrings
        for match in _FILE.finditer(docstring.text)
        if PurePosixPath(name := match[1] or match[2]) not in ends and name not in names
    ]

    assert missing == []


def test_a_module_that_a_docstring_names_is_there_and_has_what_it_names() -> None:
    of_module = _product().of_module
    packages = {".".join(path.parts[:end]) for path in _paths() for end in range(1, len(path.parts))}

    def exists(name: str) -> bool:
        if name in of_module or name in packages:
            return True
        module, _, member = name.rpartition(".")
        return member in of_module.get(module, ()) or member in of_module.get(module.rpartition(".")[0], ())

    missing = [
        _reported(docstring, match[0])
        for docstring in _product().docstrings
        for match in _MODULE.finditer(docstring.text)
        if not exists(match[0]) and match[0] != "schemas.ts"  # a file of a user's project
    ]

    assert missing == []


def test_a_name_that_a_docstring_takes_from_the_code_is_in_it() -> None:
    words = _product().words
    missing = [
        _reported(docstring, match[1])
        for docstring in _product().docstrings
        for match in _OF_CODE.finditer(docstring.text)
        if not words.issuperset(match[1].split("."))
    ]

    assert missing == []


def test_what_is_defined_is_used() -> None:
    used = _product().used | _CALLED_BY_OTHERS
    unused = [
        _reported(defined, defined.text)
        for defined in _product().defined
        if defined.text not in used and not defined.text.startswith("__")
    ]

    assert unused == []


def test_an_argument_that_a_docstring_explains_is_in_its_module() -> None:
    of_module = _product().of_module
    missing = [
        _reported(docstring, name)
        for docstring in _product().docstrings
        if docstring.is_of_function
        for name in _SUBJECT.findall(docstring.text)
        if name not in of_module[_module_name(docstring.path)]
    ]

    assert missing == []


def test_an_error_that_a_docstring_announces_is_one() -> None:
    words = _product().words
    missing = [
        _reported(docstring, name)
        for docstring in _product().docstrings
        for announced in _RAISES.finditer(docstring.text)
        for name in _ERROR.findall(announced[1])
        if name not in words
    ]

    assert missing == []
