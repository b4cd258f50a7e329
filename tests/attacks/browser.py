"""A browser as an attack needs one: it keeps cookies, follows redirects by hand, and can be made to open an address."""

import http.client
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.attacks.client import Received

SITE = "http://localhost:3000"


@dataclass
class Browser:
    """Cookies by host. Nothing else of a browser matters here."""

    cookies: dict[str, dict[str, str]] = field(default_factory=dict)

    def open(self, url: str, method: str = "GET", form: dict[str, str] | None = None) -> Received:
        """Open an address and keep its cookies."""
        parts = urlsplit(url)
        jar = self.cookies.setdefault(parts.hostname or "", {})
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in jar.items())} if jar else {}
        body = None
        if form is not None:
            method, body = "POST", urlencode(form)
            headers["content-type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        try:
            connection.request(method, f"{parts.path}?{parts.query}", body, headers)
            answer = connection.getresponse()
            lines = [(name.lower(), value) for name, value in answer.getheaders()]
            received = Received(answer.status, dict(lines), lines, answer.read())
        finally:
            connection.close()
        jar.update(received.cookies())
        return received

    def follow(self, url: str, stop: str = SITE) -> str:
        """Follow redirects until an address begins with `stop`, and return that."""
        for _ in range(8):
            if url.startswith(stop):
                return url
            url = self.open(url).headers["location"]
        raise AssertionError(f"too many redirects, at last to {url}")


def fields_of(url: str) -> dict[str, str]:
    """Return the fields of an address, of its query and of its fragment."""
    parts = urlsplit(url)
    return dict(parse_qsl(parts.query)) | dict(parse_qsl(parts.fragment))
