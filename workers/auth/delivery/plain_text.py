"""HTML -> plain text, for emails whose template has only HTML. Pure.

Blocks become paragraphs, a link is followed by its address, list items get a dash; styles and scripts are dropped.
"""

import re
from html.parser import HTMLParser

_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "div", "dl", "fieldset", "figure", "footer", "form",
    "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "main", "nav", "ol", "p", "pre", "section", "table",
    "tbody", "thead", "tr", "ul",
})  # fmt: skip
_BREAKS = frozenset({"br", "li", "td", "th", "dt", "dd"})
_HIDDEN = frozenset({"head", "script", "style", "template", "title"})
_SPACE = re.compile(r"[ \t\r\n\f\v]+")
_MANY = re.compile(r"\n{3,}")
_AROUND = re.compile(r"[ \t]*\n[ \t]*")


def plain_text(html: str) -> str:
    """Return the text of an HTML email.

    >>> plain_text('<h2>Hello</h2><p>Go <a href="https://a.example/x">there</a>.</p>')
    'Hello\\n\\nGo there (https://a.example/x).\\n'
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    text = _MANY.sub("\n\n", _AROUND.sub("\n", "".join(reader.parts)))
    return text.strip() + "\n"


class _Reader(HTMLParser):
    """Collects the text of an HTML document."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0
        self._links: list[tuple[str, int]] = []
        """Open links: the address, and the number of parts before them."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag == "body":
            self._hidden = 0  # ends a head without an end tag
        elif tag in _BLOCKS:
            self.parts.append("\n\n")
        elif tag in _BREAKS:
            self.parts.append("\n- " if tag == "li" else "\n" if tag == "br" else " ")
        elif tag == "a":
            self._links.append((dict(attrs).get("href") or "", len(self.parts)))

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self.parts.append("\n\n")
        elif tag == "a" and self._links:
            address, start = self._links.pop()
            words = "".join(self.parts[start:]).strip()
            if not self._hidden and address.strip() and address.strip() != words:
                self.parts.append(f" ({address.strip()})" if words else address.strip())

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(_SPACE.sub(" ", data))
