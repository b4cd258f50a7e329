"""The reference pages (docs/reference) hold what the code says of them.

    citations    a section that a comment or a docstring cites is a heading of its page, or a rule in a numbered list of it
    endpoints    every line of a route table, as data, is a method and a path on its page

Citations are spelled `docs/reference/storage.md, section 6.1`; older ones `reference page "storage", section 6.1`. Several
sections may follow: `sections 1 ("Keys"), 5 to 8 and 12.4`. A page that is not written yet is skipped.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from workers.auth.http.routes import ROUTES as AUTH_ROUTES
from workers.storage.routes import ROUTES as STORAGE_ROUTES

PAGES = ("auth", "functions", "graphql", "platform", "realtime", "rest", "schema-metadata", "storage")
FOLDERS = ("broker", "schemas", "services", "workers")

_LINE_BREAK = re.compile(r"\s*\n\s*(?:(?:--|#)\s?)?")
_NUMBER = r"\d+(?:\.\d+)*"
_NAMED = re.compile(
    rf'(?:reference\s+page\s+"(?P<old>[\w-]+)"|docs/reference/(?P<new>[\w-]+)\.md)'
    rf"(?:\s+\([^)]*\))?,?\s+(?:sections?\s+)?(?P<first>{_NUMBER})"
)
_NEXT = re.compile(
    rf"(?:\s+\([^)]*\))?(?P<between>\s*,\s*(?:and\s+)?|\s+and\s+|\s+to\s+|-)(?P<number>{_NUMBER})\b"
)
_HEADING = re.compile(rf"^#{{2,4}}\s+({_NUMBER})\.?(?:\s|$)", re.MULTILINE)
_ITEM = re.compile(r"^\s*(\d+)\.\s", re.MULTILINE)

_METHOD = r"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\b"
_PATH = r"/[\w./{}<>:-]*"
_SEPARATOR = r"[\s`,|*]+(?:and[\s`]+)?"
_ENDPOINTS = re.compile(
    rf"(?P<methods>{_METHOD}(?:{_SEPARATOR}{_METHOD})*){_SEPARATOR}(?P<paths>{_PATH}(?:{_SEPARATOR}{_PATH})*)"
)
_PREFIX = re.compile(r"^/(?:auth|storage)/v1(?=/|$)")
_PARAMETER = re.compile(r"\{[^}]*\}|<[^>]*>")

Endpoint = tuple[str, str]


def page(name: str) -> Path:
    return ROOT / "docs" / "reference" / f"{name}.md"


def written(name: str) -> str:
    path = page(name)
    if not path.exists():
        pytest.skip(f"docs/reference/{name}.md is not written yet")
    return path.read_text(encoding="utf-8")


def cited_sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Return the page and the sections of each citation in a source file."""
    flat = _LINE_BREAK.sub(" ", text)
    for found in _NAMED.finditer(flat):
        sections, at = [found["first"]], found.end()
        while (following := _NEXT.match(flat, at)) is not None:
            number = following["number"]
            if following["between"].strip() in ("to", "-"):
                sections += _between(sections[-1], number)
            sections.append(number)
            at = following.end()
        yield found["old"] or found["new"], sections


def _between(first: str, last: str) -> list[str]:
    """Return the sections between two: of the same level and below the same number."""
    *above, low = first.split(".")
    *others, high = last.split(".")
    if above != others:
        return []
    return [".".join((*above, str(number))) for number in range(int(low) + 1, int(high))]


@cache
def citations() -> dict[str, dict[str, list[str]]]:
    """Return for each page the sections that the code cites, and where."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".py", ".sql"):
                continue
            for name, sections in cited_sections(path.read_text(encoding="utf-8")):
                for section in sections:
                    found[name][section].append(str(path.relative_to(ROOT)))
    return found


def sections_of(text: str) -> set[str]:
    """Return the numbers of a page's headings, and of the rules in numbered lists below headings such as 8.3 (8.3.8)."""
    _, *parts = _HEADING.split(text)
    numbers, bodies = parts[::2], parts[1::2]
    rules = {
        f"{number}.{rule}"
        for number, body in zip(numbers, bodies, strict=True)
        if "." in number
        for rule in _ITEM.findall(body)
    }
    return {*numbers, *rules}


def endpoints_on(text: str) -> set[Endpoint]:
    """Return the endpoints that a page names: methods, and the paths that follow them."""
    return {
        (method, plain_path(path))
        for found in _ENDPOINTS.finditer(text)
        for method in re.findall(_METHOD, found["methods"])
        for path in re.findall(_PATH, found["paths"])
    }


def plain_path(path: str) -> str:
    """Return a path without its prefix, the names of its parameters, and a slash at its end.

    `{rest...}` has no meaning of its own: the endpoint ignores it.
    """
    path = _PREFIX.sub("", path.rstrip(".,;:").replace("/{rest...}", ""))
    return _PARAMETER.sub("{}", path).rstrip("/") or "/"


def test_only_known_pages_are_cited() -> None:
    assert set(citations()) <= set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_cited_section_is_a_heading_of_its_page(name: str) -> None:
    sections = sections_of(written(name))

    missing = {section: places for section, places in citations()[name].items() if section not in sections}

    assert missing == {}


@pytest.mark.parametrize("name", PAGES)
def test_a_section_has_one_heading(name: str) -> None:
    headings = _HEADING.findall(written(name))

    assert sorted(headings) == sorted(set(headings))


_HEAD_OF_EVERY_GET = "Every endpoint that has GET has HEAD"
"""With this sentence a page names the HEAD of every GET that it names."""


@pytest.mark.parametrize(
    ("name", "routes"),
    [
        ("auth", [(route.method, route.pattern) for route in AUTH_ROUTES]),
        ("storage", [(route.method, route.pattern) for route in STORAGE_ROUTES]),
    ],
    ids=["auth", "storage"],
)
def test_every_endpoint_is_on_its_page(name: str, routes: list[Endpoint]) -> None:
    named = endpoints_on(written(name))
    if _HEAD_OF_EVERY_GET in written(name):
        named |= {("HEAD", path) for method, path in named if method == "GET"}

    missing = [(method, path) for method, path in routes if (method, plain_path(path)) not in named]

    assert missing == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Source: reference page "storage", section 6.1; RFC 7578, 4.', [("storage", ["6.1"])]),
        ('"""Cursors. Source: reference page "storage", 6.6."""', [("storage", ["6.6"])]),
        ('# reference page "rest", sections 1 (precedence), 4, 12.\n', [("rest", ["1", "4", "12"])]),
        (
            'reference page "storage", sections 2, 5 to 7 and 12.4',
            [("storage", ["2", "5", "6", "7", "12.4"])],
        ),
        ('reference page "graphql", sections 4, 7-9; the rest', [("graphql", ["4", "7", "8", "9"])]),
        ('reference page "rest", section 22, rules 2 and 3', [("rest", ["22"])]),
        ("See docs/reference/auth.md, sections 6.1 to 6.3.", [("auth", ["6.1", "6.2", "6.3"])]),
        ('Source: reference page\n    "realtime", sections 4, 7.', [("realtime", ["4", "7"])]),
        ("-- docs/reference/realtime.md,\n-- section 11.", [("realtime", ["11"])]),
        ('[realtime]: sockets (reference page "realtime").', []),
    ],
)
def test_citations_are_read(text: str, expected: list[tuple[str, list[str]]]) -> None:
    assert list(cited_sections(text)) == expected


def test_rules_of_a_numbered_list_are_sections() -> None:
    text = "# Page\n\n## 8. Sessions\n\n1. One\n\n### 8.3 Refresh\n\n1. First\n2. Second\n"

    assert sections_of(text) == {"8", "8.3", "8.3.1", "8.3.2"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| `GET /bucket/{bucket}` | |", {("GET", "/bucket/{}")}),
        ("| GET, HEAD, POST /verify | open |", {("GET", "/verify"), ("HEAD", "/verify"), ("POST", "/verify")}),
        ("| POST | `/auth/v1/signup` |", {("POST", "/signup")}),
        ("GET /user; PUT /user/{user_id}.", {("GET", "/user"), ("PUT", "/user/{}")}),
        ("| `GET`, `PUT` | `/s3`, `/s3/{path...}` |", {
            ("GET", "/s3"), ("GET", "/s3/{}"), ("PUT", "/s3"), ("PUT", "/s3/{}"),
        }),
        ("POST /token?grant_type=password", {("POST", "/token")}),
    ],
)  # fmt: skip
def test_endpoints_are_read(text: str, expected: set[Endpoint]) -> None:
    assert endpoints_on(text) == expected
