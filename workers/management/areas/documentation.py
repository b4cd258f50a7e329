"""The documentation pages that are shipped with the platform, and a search over their sections.

A wheel brings the pages as shared data (pyproject.toml); in a clone they are in `docs`. They are read when they are first asked for. A section is what stands
below a heading of the second or third level. Sections are ranked by BM25 (Robertson and Zaragoza, 2009), with words of headings counted more.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

_CLONE = Path(__file__).parents[3] / "docs"
_SHIPPED = "share/headwater/docs/mcp.md"
NOT_SHIPPED = frozenset({"changelog", "code-map", "decisions", "index", "comparison"})
"""Pages for those who build the platform, not for those who build on it."""
_WORD = re.compile(r"[^\W_]+")
_HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_SATURATION, _LENGTH = 1.2, 0.75
_HEADING_WEIGHT = 4
SCHEME = "docs://"


@dataclass(frozen=True, slots=True)
class DocsSection:
    """A section of a page: its heading with those above it, its text in Markdown."""

    uri: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class _Index:
    sections: list[DocsSection]
    words: list[Counter[str]]
    frequencies: Counter[str]
    mean_length: float


def page_names() -> list[str]:
    """Return the names of the pages."""
    folder = _folder()
    pages = folder.glob("*.md") if folder is not None else []
    return sorted(path.stem for path in pages if path.stem not in NOT_SHIPPED)


def read_page(name: str) -> str | None:
    """Return a page in Markdown, or None if no page has that name."""
    folder = _folder()
    if folder is None or name not in page_names():
        return None
    return (folder / f"{name}.md").read_text(encoding="utf-8")


def search(query: str, limit: int) -> list[DocsSection]:
    """Return the sections that fit a query best, the best first."""
    index = _index()
    words = set(_words(query))
    scores = [(_score(index, counts, words), number) for number, counts in enumerate(index.words)]
    best = sorted((pair for pair in scores if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
    return [index.sections[number] for _, number in best[:limit]]


def sections_of(name: str, text: str) -> list[DocsSection]:
    """Return the sections of a page. Lines that begin with `#` inside code are not headings."""
    hidden = _FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    headings = list(_HEADING.finditer(hidden))
    title = headings[0].group(1) if headings else name
    sections = []
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        body = text[heading.end() : following.start() if following else len(text)].strip()
        if body:
            title_of_section = heading.group(1)
            sections.append(
                DocsSection(
                    f"{SCHEME}{name}",
                    title_of_section if title_of_section == title else f"{title}: {title_of_section}",
                    body,
                )
            )
    return sections


@lru_cache(maxsize=1)
def _index() -> _Index:
    sections = [section for name in page_names() for section in sections_of(name, read_page(name) or "")]
    words = [
        Counter(_words(section.text)) + Counter(_words(section.heading) * _HEADING_WEIGHT)
        for section in sections
    ]
    frequencies = Counter(word for counts in words for word in counts)
    total = sum(counts.total() for counts in words)
    return _Index(sections, words, frequencies, total / max(1, len(words)))


def _score(index: _Index, counts: Counter[str], words: set[str]) -> float:
    length = counts.total() / index.mean_length
    score = 0.0
    for word in words & counts.keys():
        documents = index.frequencies[word]
        rarity = math.log(1 + (len(index.sections) - documents + 0.5) / (documents + 0.5))
        count = counts[word]
        score += rarity * count * (_SATURATION + 1) / (count + _SATURATION * (1 - _LENGTH + _LENGTH * length))
    return score


def _words(text: str) -> list[str]:
    """Return the words in lower case, without the plural's `s`."""
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _WORD.findall(text.lower())
    ]


@lru_cache(maxsize=1)
def _folder() -> Path | None:
    """Return the folder of the pages, None where they were not installed."""
    if (_CLONE / "mcp.md").is_file():
        return _CLONE
    try:
        files = metadata.files("headwater") or []
    except metadata.PackageNotFoundError:
        files = []
    return next(
        (Path(str(file.locate())).resolve().parent for file in files if str(file).endswith(_SHIPPED)), None
    )
