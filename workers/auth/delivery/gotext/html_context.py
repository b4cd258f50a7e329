"""Finds where in an HTML template a value is written, and escapes it for that place. Pure.

Danger: values come from anyone who signs up (a name, a redirect target), and the email may go to another user. They must not
become markup, code or parameters of another link. The tracker reads the template's text up to the value and looks at the open
tag: inside a quoted attribute, an unquoted one, a URL, its query, or text.
"""

import html
import re
from urllib.parse import quote

from workers.auth.delivery.gotext.nodes import HtmlContext

_ATTRIBUTE = re.compile(r"""\s([^\s"'<>=/]+)\s*=\s*(?:"([^"]*)|'([^']*)|([^\s"'>]*))$""")
_URLS = frozenset({"href", "src", "action", "formaction", "background", "cite", "poster", "xlink:href"})
_LONGEST_TAG = 4096
_CODE = re.compile(r"(?:javascript|vbscript|data):", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060\ufeff]+")
_ENDS_BARE = re.compile(r"[\s=`]")
"""What may end an unquoted value: the blanks of ASCII by HTML; some mail clients split at those of Unicode too."""
_HARMLESS = "#blocked"


class HtmlTracker:
    """Follows the text of a template from its start, and knows the context of the next value."""

    def __init__(self) -> None:
        self._tag = ""
        """The text of the open tag so far; empty outside a tag."""

    def read(self, text: str) -> None:
        """Advance over text, or over a value (any character stands for it)."""
        start = text.rfind("<")
        if start >= 0:
            self._tag = text[start:]
        elif self._tag:
            self._tag = (self._tag + text)[: _LONGEST_TAG + 1]

    def place(self) -> HtmlContext:
        """Return the context at the end of the text read so far."""
        if not self._tag or len(self._tag) > _LONGEST_TAG:
            return HtmlContext.TEXT
        match = _ATTRIBUTE.search(self._tag)
        if match is None:
            return HtmlContext.TEXT
        name, double, single, bare = match.groups()
        value = next(part for part in (double, single, bare) if part is not None)
        if name.lower() in _URLS:
            if "?" in value or "#" in value:
                return HtmlContext.QUERY
            return HtmlContext.URL if bare is None else HtmlContext.BARE_URL
        return HtmlContext.BARE if bare is not None else HtmlContext.TEXT


def escape(text: str, place: HtmlContext) -> str:
    """Escape a value for its context."""
    match place:
        case HtmlContext.ESCAPED:
            return text
        case HtmlContext.QUERY:
            return quote(text, safe="", errors="replace")
        case HtmlContext.URL | HtmlContext.BARE_URL if _CODE.match(_INVISIBLE.sub("", text)):
            return _HARMLESS
        case HtmlContext.BARE | HtmlContext.BARE_URL:
            return _ENDS_BARE.sub(lambda sign: f"&#{ord(sign[0])};", html.escape(text))
    return html.escape(text)
