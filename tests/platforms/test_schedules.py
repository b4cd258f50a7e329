"""Jobs, requests and webhooks on a whole platform: from SQL to a server on loopback that a setting allows."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from queue import Empty, Queue
from typing import Any

import pytest

from tests.platform import Platform, platform

Heard = tuple[str, dict[str, str], Any]


class Listener:
    """A server on loopback that puts what it is asked into a queue."""

    def __init__(self) -> None:
        self.heard: Queue[Heard] = Queue()
        heard = self.heard

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the library's name
                body = self.rfile.read(int(self.headers["content-length"]))
                heard.put((self.path, dict(self.headers), json.loads(body)))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"heard")

            def log_message(self, format: str, *args: object) -> None:
                """Be quiet."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self) -> Heard:
        return self.heard.get(timeout=30)


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    one = Listener()
    yield one
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture(scope="module")
def running_platform(listener: Listener) -> Iterator[Platform]:
    """A platform that may reach the listener, and a table to tell of."""
    with platform(environment={"HEADWATER_NET_ALLOW": listener.url.removeprefix("http://")}) as one:
        one.psql(
            "create extension pg_cron; create extension pg_net; create table notes (id int primary key, text text)"
        )
        one.wait_for_catalog("notes")
        yield one


def until(running_platform: Platform, query: str) -> str:
    """Ask until there is an answer."""
    deadline = time.monotonic() + 30
    while not (found := running_platform.psql(query).strip()) or "(0 rows)" in found:
        assert time.monotonic() < deadline, query
        time.sleep(0.1)
    return found


def test_a_job_posts_to_a_server_that_a_setting_allows(running_platform: Platform, listener: Listener):
    running_platform.psql(
        f"select cron.schedule('call', '1 seconds', $$select net.http_post('{listener.url}/job', '{{\"by\": \"cron\"}}')$$)"
    )

    path, headers, body = listener.next()
    running_platform.psql("select cron.unschedule('call')")

    assert (path, body) == ("/job", {"by": "cron"})
    assert headers["Content-Type"] == "application/json"
    assert "heard" in until(
        running_platform, "select content from net._http_response where status_code = 200 limit 1"
    )
    assert "1 row" in until(
        running_platform, "select return_message from cron.job_run_details where status = 'succeeded' limit 1"
    )
    drain(listener, running_platform)


def test_a_webhook_tells_of_a_change_by_the_interface_and_of_none_that_was_rolled_back(
    running_platform: Platform, listener: Listener
):
    running_platform.psql(
        "create trigger told after insert or delete on notes for each row execute function"
        f" supabase_functions.http_request('{listener.url}/hook', 'POST', '{{}}', '{{}}', '5000')"
    )

    running_platform.psql("begin; insert into notes values (1, 'undone'); rollback")
    running_platform.psql("insert into notes values (2, 'kept')")
    path, _, body = listener.next()
    running_platform.psql("drop trigger told on notes; delete from notes")

    assert path == "/hook"
    assert body == {
        "type": "INSERT", "table": "notes", "schema": "public", "record": {"id": 2, "text": "kept"}, "old_record": None,
    }  # fmt: skip
    with pytest.raises(Empty):
        listener.heard.get_nowait()


def test_sql_calls_the_platforms_own_gateway_by_the_name_that_projects_use(running_platform: Platform):
    headers = json.dumps(
        {"apikey": running_platform.values["SERVICE_ROLE_KEY"], "Content-Type": "application/json"}
    )

    running_platform.psql(
        f"""select net.http_post('http://kong:8000/rest/v1/notes', '{{"id": 7, "text": "by SQL"}}', '{{}}', '{headers}')"""
    )

    assert "by SQL" in until(running_platform, "select text from notes where id = 7")


@pytest.mark.parametrize(
    "place", ["127.0.0.1:{db}", "localhost:{db}", "169.254.169.254", "[::1]:{db}", "127.0.0.1:{api}/metrics"]
)
def test_private_places_are_refused(running_platform: Platform, place: str):
    ports = json.loads((running_platform.data / "state.json").read_text())["ports"]
    url = f"http://{place.format(**ports)}"
    id = running_platform.psql(f"select 'id' || net.http_get('{url}')").split("id")[-1].split()[0]

    assert "private address" in until(
        running_platform, f"select error_msg from net._http_response where id = {id}"
    )


def drain(listener: Listener, running_platform: Platform) -> None:
    """Wait until no request of the job is on its way, and forget what came."""
    until(running_platform, "select 'none' where not exists (select from net.http_request_queue)")
    until(
        running_platform,
        "select 'none' where (select count(*) from net._http_response) = (select last_value from net.http_request_queue_id_seq)",
    )
    while not listener.heard.empty():
        listener.heard.get_nowait()
