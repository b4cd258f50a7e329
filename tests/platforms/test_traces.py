"""Traces of a whole platform: one request is one connected trace across its processes, and no secret is in it."""

import http.server
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.collector import Collector, ReceivedSpan, collecting
from tests.platform import Platform, platform

pytestmark = [pytest.mark.process_group("traces"), pytest.mark.timeout(120)]

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
ECHO = "Deno.serve((req) => Response.json({ traceparent: req.headers.get('traceparent') }));"
ROOT = Path(__file__).parents[2]
PASSWORD = "a password that no span may show"
VALUE = "a-value-that-no-span-may-show"
COLLECTOR_KEY = "key-of-the-collector"
CONFIG = """
[functions.echo]
verify_jwt = false
[auth.hook.custom_access_token]
enabled = true
uri = "http://127.0.0.1:{port}/hook"
secrets = "v1,whsec_c2VjcmV0IG9mIGEgaG9vayB0aGF0IGlzIGxvbmc="
"""


@dataclass
class Hook:
    """A hook of the accounts, and the trace headers that came to it."""

    port: int = 0
    traces: list[str | None] = field(default_factory=list)


@pytest.fixture(scope="module")
def hook() -> Iterator[Hook]:
    """A server that is asked for the claims of every access token."""
    one = Hook()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            one.traces.append(self.headers.get("traceparent"))
            body = json.dumps({"claims": asked["claims"]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: object) -> None:
            del format, words

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield one
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    """What collects the traces."""
    with collecting() as one:
        yield one


@pytest.fixture(scope="module")
def traced(collector: Collector, hook: Hook, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform that sends traces, told by the names that every program knows."""
    project = tmp_path_factory.mktemp("traced")
    function = project / "supabase" / "functions" / "echo" / "index.ts"
    function.parent.mkdir(parents=True)
    function.write_text(ECHO)
    (project / "supabase" / "config.toml").write_text(CONFIG.replace("{port}", str(hook.port)))
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"x-collector-key={COLLECTOR_KEY}",
    }
    with platform("--project", str(project), environment=environment) as one:
        one.psql("create table public.things (id int primary key, name text); notify pgrst")
        one.wait_for_catalog("things")
        yield one


def _ask(one: Platform, method: str, path: str, body: object = None, **headers: str) -> dict[str, str]:
    """Send a request with a trusted server's key and give the answer, with its status as `status`."""
    key = one.values["SERVICE_ROLE_KEY"]
    own = {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers}
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(one.url + path, data, own, method=method)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        text = answer.read()
        return json.loads(text) if text else {}


def _connected(spans: list[ReceivedSpan], root: str) -> bool:
    """Tell whether every span has its parent among them, but the one below `root`."""
    ids = {each.id for each in spans}
    tops = [each for each in spans if each.parent not in ids]
    return len(tops) == 1 and tops[0].parent == root


def _whole(collector: Collector, trace: str, pool: str) -> list[ReceivedSpan]:
    """Wait until both processes have sent their spans of a trace, each in one piece, and give them."""

    def has_come(spans: list[ReceivedSpan]) -> bool:
        mine = [each for each in spans if each.trace == trace]
        return {PARENT} <= {each.parent for each in mine} and f"answer {pool}" in {each.name for each in mine}

    collector.wait(has_come)
    return collector.of(trace)


def test_request_is_one_trace_from_the_client_to_the_statement(
    traced: Platform, collector: Collector
) -> None:
    _ask(
        traced, "POST", "/rest/v1/things", {"id": 1, "name": VALUE}, traceparent=f"00-{TRACE}-{PARENT}-01"
    )  # fmt: skip
    spans = _whole(collector, TRACE, "rest")
    by_name = {each.name: each for each in spans}

    assert by_name.keys() == {"POST /rest/v1", "ask rest", "answer rest", "sql"}
    assert _connected(spans, PARENT)
    assert by_name["sql"].parent == by_name["answer rest"].id
    assert by_name["answer rest"].parent == by_name["ask rest"].id
    assert by_name["ask rest"].service == by_name["POST /rest/v1"].service == "headwater-edges"
    assert by_name["answer rest"].service == by_name["sql"].service == "headwater-workers"
    assert by_name["POST /rest/v1"].attributes["http.response.status_code"] == "201"
    assert by_name["POST /rest/v1"].attributes["url.path"] == "/rest/v1/things"
    assert "insert into" in by_name["sql"].attributes["db.query.text"].lower()
    assert collector.paths == {"/v1/traces"}
    assert collector.headers["x-collector-key"] == COLLECTOR_KEY


def test_client_that_decided_against_tracing_is_obeyed(traced: Platform, collector: Collector) -> None:
    other = "11111111111111111111111111111111"
    answer = _ask(traced, "POST", "/functions/v1/echo", {}, traceparent=f"00-{other}-{PARENT}-00")
    _ask(traced, "GET", "/rest/v1/things", traceparent=f"00-{'2' * 32}-{PARENT}-01")
    collector.wait(lambda spans: any(each.trace == "2" * 32 and each.name == "sql" for each in spans))

    assert collector.of(other) == []
    assert answer["traceparent"].startswith(f"00-{other}-")
    assert answer["traceparent"].endswith("-00")


def test_function_is_told_of_the_span_that_calls_it(traced: Platform, collector: Collector) -> None:
    trace = "33333333333333333333333333333333"
    answer = _ask(traced, "POST", "/functions/v1/echo", {}, traceparent=f"00-{trace}-{PARENT}-01")
    _whole(collector, trace, "functions")
    answering = next(each for each in collector.of(trace) if each.name == "answer functions")

    assert answer["traceparent"] == f"00-{trace}-{answering.id}-01"
    assert _connected(collector.of(trace), PARENT)


def test_hook_is_told_and_nothing_secret_is_in_any_span(
    traced: Platform, collector: Collector, hook: Hook
) -> None:
    trace = "44444444444444444444444444444444"
    user = {"email": "traced@example.com", "password": PASSWORD, "email_confirm": True}
    _ask(traced, "POST", "/auth/v1/admin/users", user)
    session = _ask(
        traced,
        "POST",
        f"/auth/v1/token?grant_type=password&apikey={traced.values['ANON_KEY']}",
        {"email": user["email"], "password": PASSWORD},
        traceparent=f"00-{trace}-{PARENT}-01",
    )
    spans = _whole(collector, trace, "auth")
    fetching = next(each for each in spans if each.name == "fetch POST")
    whole = b"".join(collector.raw)

    assert _connected(spans, PARENT)
    assert hook.traces[-1] == f"00-{trace}-{fetching.id}-01"
    assert "commit" in {each.attributes.get("db.query.text") for each in spans}
    secrets = (
        PASSWORD, VALUE, COLLECTOR_KEY, user["email"], session["access_token"], session["refresh_token"],
        traced.values["ANON_KEY"], traced.values["SERVICE_ROLE_KEY"], traced.values["JWT_SECRET"],
        traced.values["SECRET_KEY"],
    )  # fmt: skip
    for secret in secrets:
        assert secret.encode() not in whole


def test_health_and_metrics_are_not_traced(traced: Platform, collector: Collector) -> None:
    traced.get("/health/ready")
    traced.metrics()
    _ask(traced, "GET", "/rest/v1/things", traceparent=f"00-{'5' * 32}-{PARENT}-01")
    spans = collector.wait(lambda spans: any(each.trace == "5" * 32 and each.name == "sql" for each in spans))

    assert not [each.name for each in spans if "health" in each.name or "metrics" in each.name]


def test_refused_request_ends_its_span_with_the_status(traced: Platform, collector: Collector) -> None:
    trace = "66666666666666666666666666666666"
    asked = urllib.request.Request(
        f"{traced.url}/rest/v1/nothing-of-this-name", headers={"traceparent": f"00-{trace}-{PARENT}-01"}
    )
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(asked, timeout=30)
    spans = collector.wait(lambda spans: any(each.trace == trace for each in spans))

    (only,) = [each for each in spans if each.trace == trace]
    assert only.attributes["http.response.status_code"] == "401"


def test_without_an_endpoint_the_packages_are_not_imported(tmp_path: Path) -> None:
    script = tmp_path / "look.py"
    script.write_text(
        "import sys, broker.processes.lifecycle, services.app, workers.resources\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )

    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT)},
    )

    assert done.returncode == 0, done.stderr
