"""The documentation for language models, beside the site: `llms.txt` lists the pages with their first sentences, `llms-full.txt` holds
them whole, in the order of the site. Source: the proposal of llmstxt.org.
"""

import re
from collections.abc import Iterator
from pathlib import Path

_TREE = re.compile(r"```\{toctree\}\n((?::[a-z]+:[^\n]*\n)+)\n(.*?)```", re.DOTALL)
_INCLUDE = re.compile(r"```\{include\} (\S+)")
_CAPTION = re.compile(r":caption: (.+)")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


def write_texts(source: Path, target: Path) -> None:
    """Write both files for the pages of a folder into the folder of the site. Raises: OSError."""
    index = (source / "index.md").read_text(encoding="utf-8")
    title, _, rest = index.partition("\n")
    intro = _plain(rest.strip().split("\n\n")[0])
    listed = [f"{title}\n\n> {intro}\n"]
    whole = [f"{title}\n\n{intro}\n"]
    for caption, names in sections(index):
        listed.append(f"## {caption}\n")
        for name in names:
            page = _text(source / f"{name}.md")
            listed.append(f"- [{_title(page)}]({name}.html): {first_sentence(page)}")
            whole.append(page.strip() + "\n")
        listed.append("")
    (target / "llms.txt").write_text("\n".join(listed), encoding="utf-8")
    (target / "llms-full.txt").write_text("\n".join(whole), encoding="utf-8")


def _text(path: Path) -> str:
    """Return a page, or the file that it includes as a whole."""
    text = path.read_text(encoding="utf-8")
    included = _INCLUDE.match(text)
    return (path.parent / included[1]).read_text(encoding="utf-8") if included else text


def sections(index: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the captions of the contents with the names of their pages."""
    for options, names in _TREE.findall(index):
        caption = _CAPTION.search(options)
        yield (caption[1] if caption else "Pages"), names.split()


def first_sentence(page: str) -> str:
    """Return the first sentence of the first paragraph of a page."""
    for block in page.split("\n\n")[1:]:
        text = block.strip()
        if text and text[0] not in "#`|-<!:":
            return re.split(r"(?<=[.!?])\s", _plain(text))[0].rstrip(":")
    return ""


def _title(page: str) -> str:
    return page.partition("\n")[0].removeprefix("# ")


def _plain(text: str) -> str:
    """Return a paragraph in one line, its links as their words."""
    return _LINK.sub(r"\1", " ".join(text.split()))
