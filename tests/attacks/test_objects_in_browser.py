"""Objects opened in a real browser: what runs scripts elsewhere runs none at the API's address, and is not of its origin."""

import http.server
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.attacks.chromium import Chromium, Page, chromium
from tests.attacks.client import send
from tests.platform import Platform

_SCRIPT = """
document.documentElement.setAttribute('data-ran', '1');
fetch('BEACON/fetched'); new Image().src = 'BEACON/image';
try { localStorage.setItem('left', '1') } catch {}
"""
_DOCUMENTS = {
    "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"><script>{}</script></svg>',
    "text/html": "<!doctype html><html><body><script>{}</script></body></html>",
    "application/xhtml+xml": '<html xmlns="http://www.w3.org/1999/xhtml"><body><script>{}</script></body></html>',
    "text/xml": '<a><script xmlns="http://www.w3.org/1999/xhtml">{}</script></a>',
}
_NAMES = ("document", "fetch", "XMLHttpRequest", "WebSocket", "localStorage", "chrome")
_PDF_SCRIPT = (
    "try {{ this.submitForm({{cURL: '{0}/submitted', cSubmitAs: 'HTML'}}) }} catch (e) {{}}"
    " try {{ app.launchURL('{0}/launched', false) }} catch (e) {{}} try {{ this.getURL('{0}/got', false) }} catch (e) {{}}"
    " app.alert([{1}].join());"
)


@dataclass
class Elsewhere:
    """A site of the attacker's: it serves a document as it is, and notes what it is asked for."""

    url: str = ""
    documents: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Elsewhere]:
    site = Elsewhere()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append(self.path)
            kind, body = site.documents.get(self.path, ("image/gif", b""))
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.send_header("access-control-allow-origin", "*")
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield site
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def bucket(target: Platform) -> str:
    name = f"browser-{uuid.uuid4().hex[:12]}"
    own = {"authorization": f"Bearer {target.values['SERVICE_ROLE_KEY']}"}
    made = send(
        target, "POST", "/storage/v1/bucket", {"name": name, "public": True}, own, key="SERVICE_ROLE_KEY"
    )
    assert made.status == 200, made
    return name


def uploaded(target: Platform, bucket: str, kind: str, body: bytes) -> str:
    """Upload an object and return its public address."""
    name = uuid.uuid4().hex
    own = {"authorization": f"Bearer {target.values['SERVICE_ROLE_KEY']}", "content-type": kind}
    path = f"/storage/v1/object/{bucket}/{name}"
    assert send(target, "POST", path, body, own, key="SERVICE_ROLE_KEY").status == 200
    return f"{target.url}/storage/v1/object/public/{bucket}/{name}"


def opened(browser: Chromium, url: str) -> Page:
    page = browser.page()
    page.open(url)
    return page


@pytest.mark.parametrize("kind", _DOCUMENTS)
def test_a_document_runs_no_script_and_is_not_of_the_apis_origin(
    target: Platform, bucket: str, browser: Chromium, elsewhere: Elsewhere, kind: str
) -> None:
    def document(mark: str) -> bytes:
        return _DOCUMENTS[kind].format(_SCRIPT.replace("BEACON", f"{elsewhere.url}/{mark}")).encode()

    elsewhere.documents["/document"] = (kind, document("free"))
    elsewhere.requests.clear()
    free = opened(browser, f"{elsewhere.url}/document")
    assert free.evaluate("document.documentElement.getAttribute('data-ran')") == "1"
    assert free.wait(lambda: "/free/fetched" in elsewhere.requests)
    url = uploaded(target, bucket, kind, document("held"))

    page = opened(browser, url)

    assert page.evaluate("document.documentElement.getAttribute('data-ran')") is None
    assert page.evaluate("self.origin") == "null"
    assert "SecurityError" in page.evaluate("document.cookie")
    assert "SecurityError" in page.evaluate("localStorage.length")
    assert [each for each in page.requests if each not in (url, f"{target.url}/favicon.ico")] == []
    assert not any(path.startswith("/held") for path in elsewhere.requests)


def test_a_script_of_a_pdf_has_no_document_no_origin_and_no_network(
    target: Platform, bucket: str, browser: Chromium, elsewhere: Elsewhere
) -> None:
    """Headers do not forbid it: the browser's viewer runs it, in a process of its own, where none of these exist."""
    names = ", ".join(f"typeof {name}" for name in _NAMES)
    api = uploaded(target, bucket, "application/pdf", pdf(_PDF_SCRIPT.format(f"{elsewhere.url}/pdf", names)))
    page = browser.page()

    page.open(api)
    page.wait(lambda: bool(page.dialogs), 20)

    viewer = [each for each in page.requests if each.startswith("chrome-extension://")]
    assert viewer, page.requests
    assert page.dialogs in ([], [",".join(["undefined"] * len(_NAMES))])
    others = [each for each in page.requests if each not in (api, f"{target.url}/favicon.ico", *viewer)]
    assert others == []
    assert not any(path.startswith("/pdf") for path in elsewhere.requests)


def pdf(script: str) -> bytes:
    """Return a document of one empty page whose script runs when it is opened."""
    text = script.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    parts = [
        "<< /Type /Catalog /Pages 2 0 R /OpenAction 4 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>",
        f"<< /Type /Action /S /JavaScript /JS ({text}) >>",
    ]
    body, places = b"%PDF-1.7\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{part}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    head = f"xref\n0 {len(parts) + 1}\n0000000000 65535 f \n{table}"
    return (
        body
        + f"{head}trailer\n<< /Size {len(parts) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n".encode()
    )
