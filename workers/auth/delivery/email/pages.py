"""Pages of the lists that administrators see: `page` and `per_page` in, `X-Total-Count` and `Link` out. Pure.

Source: reference page "auth", section 16.1; RFC 8288.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from schemas.numbers import parse_whole_number
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.auth.model.request import Asked

_USUAL_SIZE, _MOST_SIZE = 50, 1000
_MOST_NUMBER = 999_999_999


@dataclass(frozen=True, slots=True)
class Page:
    """The page that is asked for; the first is 1."""

    number: int
    size: int

    @property
    def offset(self) -> int:
        """Rows before it."""
        return (self.number - 1) * self.size


def read_page(asked: Asked) -> Page:
    """Read the page of a request. Raises: AuthError (400)."""
    return Page(_number(asked, "page", 1), min(_number(asked, "per_page", _USUAL_SIZE), _MOST_SIZE))


def read_limit(asked: Asked) -> int:
    """Read `limit`, of lists that are read by a cursor. Raises: AuthError (400)."""
    return min(_number(asked, "limit", _USUAL_SIZE), _MOST_SIZE)


def page_headers(path: str, page: Page, total: int, kept: Mapping[str, str]) -> list[tuple[str, str]]:
    """Give the headers of a page. Clients read the first sign after the first `=` of each link."""
    last = max(1, -(-total // page.size))
    targets = [(page.number + 1, "next")] if page.number < last else []
    targets.append((last, "last"))
    others = {"per_page": str(page.size), **{name: value for name, value in kept.items() if value}}
    links = [f'<{path}?{urlencode({"page": number, **others})}>; rel="{name}"' for number, name in targets]
    return [("x-total-count", str(total)), ("link", ", ".join(links))]


def cursor_headers(path: str, fields: Mapping[str, str]) -> list[tuple[str, str]]:
    """Give the header of a part of a list that is read by a cursor: the fields that ask for the next part, if there is one."""
    return [("link", f'<{path}?{urlencode(fields)}>; rel="next"')] if fields else []


def _number(asked: Asked, name: str, usual: int) -> int:
    text = asked.query(name)
    if not text:
        return usual
    number = parse_whole_number(text, least=1, most=_MOST_NUMBER)
    if number is None:
        raise AuthError(
            Code.VALIDATION_FAILED, f"Bad Pagination Parameters: {name} must be a whole number above 0"
        )
    return number
