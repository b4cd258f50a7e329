"""Pages of the lists for administrators: `page` and `per_page` in the query, `X-Total-Count` and `Link` in the response. Pure.

Sources: docs/reference/auth.md, section 16.1; RFC 8288.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from schemas.numbers import parse_whole_number
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.auth.model.request import AuthRequest

_USUAL_SIZE, _MOST_SIZE = 50, 1000
_MOST_NUMBER = 999_999_999


@dataclass(frozen=True, slots=True)
class ListPage:
    """The requested page; the first is number 1."""

    number: int
    size: int

    @property
    def offset(self) -> int:
        """Number of rows before the page."""
        return (self.number - 1) * self.size


def read_page(request: AuthRequest) -> ListPage:
    """Parse `page` and `per_page`. Raises: AuthError (400)."""
    return ListPage(_number(request, "page", 1), min(_number(request, "per_page", _USUAL_SIZE), _MOST_SIZE))


def read_limit(request: AuthRequest) -> int:
    """Parse `limit` of a list with a cursor. Raises: AuthError (400)."""
    return min(_number(request, "limit", _USUAL_SIZE), _MOST_SIZE)


def page_headers(
    path: str, page: ListPage, total: int, parameters: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the headers of a page. Official clients parse the first character after the first `=` of each link."""
    last = max(1, -(-total // page.size))
    targets = [(page.number + 1, "next")] if page.number < last else []
    targets.append((last, "last"))
    others = {"per_page": str(page.size), **{name: value for name, value in parameters.items() if value}}
    links = [f'<{path}?{urlencode({"page": number, **others})}>; rel="{name}"' for number, name in targets]
    return [("x-total-count", str(total)), ("link", ", ".join(links))]


def cursor_headers(path: str, fields: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the `Link` header of a list with a cursor: `fields` are the parameters of the next part, empty after the last."""
    return [("link", f'<{path}?{urlencode(fields)}>; rel="next"')] if fields else []


def _number(request: AuthRequest, name: str, usual: int) -> int:
    text = request.query(name)
    if not text:
        return usual
    number = parse_whole_number(text, least=1, most=_MOST_NUMBER)
    if number is None:
        raise AuthError(
            ErrorCode.VALIDATION_FAILED, f"Bad Pagination Parameters: {name} must be a whole number above 0"
        )
    return number
