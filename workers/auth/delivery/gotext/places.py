"""Where in an HTML template a value stands, and how it is escaped there. Pure.

Values come from whoever signs up: a name, an address to go to. In a letter to somebody else they must not become markup,
code or another link's parameters.
"""

import html
import re
from urllib.parse import quote

from workers.auth.delivery.gotext.nodes import Place

_ATTRIBUTE = re.compile(r"""\s([^\s"'<>=/]+)\s*=\s*(?:"([^"]*)|'([^']*)|([^\s"'>]*))$""")
_URLS = frozenset({"href", "src", "action", "formaction", "background", "cite", "poster", "xlink:href"})
_LONGEST_TAG = 4096
_CODE = re.compile(r"(?:javascript|vbscript|data):", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060\ufeff]+")
_ENDS_BARE = re.compile(r"[\s=`]")
"""What may end a value without quotes: HTML says the blanks of ASCII, some readers of mail split at those of Unicode."""
_HARMLESS = "#blocked"


class Tracker:
    """Follows the text of a template from its beginning and tells the place of the next value."""

    def __init__(self) -> None:
        self._tag = ""
        """What was read of the tag that is open."""

    def read(self, text: str) -> None:
        """Go on over text, or over a value (which any sign stands for)."""
        start = text.rfind("<")
        if start >= 0:
            self._tag = text[start:]
        elif self._tag:
            self._tag = (self._tag + text)[: _LONGEST_TAG + 1]

    def place(self) -> Place:
        """Give the place where the text has come to."""
        if not self._tag or len(self._tag) > _LONGEST_TAG:
            return Place.TEXT
        found = _ATTRIBUTE.search(self._tag)
        if found is None:
            return Place.TEXT
        name, double, single, bare = found.groups()
        value = next(part for part in (double, single, bare) if part is not None)
        if name.lower() in _URLS:
            if "?" in value or "#" in value:
                return Place.QUERY
            return Place.URL if bare is None else Place.BARE_URL
        return Place.BARE if bare is not None else Place.TEXT


def escaped(text: str, place: Place) -> str:
    """Write a value so that it stays a value in its place."""
    match place:
        case Place.ESCAPED:
            return text
        case Place.QUERY:
            return quote(text, safe="", errors="replace")
        case Place.URL | Place.BARE_URL if _CODE.match(_INVISIBLE.sub("", text)):
            return _HARMLESS
        case Place.BARE | Place.BARE_URL:
            return _ENDS_BARE.sub(lambda sign: f"&#{ord(sign[0])};", html.escape(text))
    return html.escape(text)
