"""Restore drills delete their own branch, and no other of its name."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from broker.processes.drill_status import DrillStatus
from schemas.branches import BranchRecord
from schemas.keys.secret import Secret
from schemas.settings.backup import Backup
from schemas.settings.tree import Settings
from services.supervisor.branches.create import create_branch
from services.supervisor.branches.names import DRILL, branch_folder
from services.supervisor.branches.record import read_record, write_record
from services.supervisor.data_folder.folder import DataFolder
from services.supervisor.drill import run_drill
from services.supervisor.drill_webhook import send_result
from services.supervisor.errors import StartRefused
from services.supervisor.project.settings import Project
from services.supervisor.report import SilentReporter


def test_a_branch_of_that_name_that_is_no_drills_stays(tmp_path: Path) -> None:
    parent = DataFolder(tmp_path)
    project = Project(tmp_path, None, tmp_path, Settings(), {})
    folder = branch_folder(parent, DRILL).path
    folder.mkdir(parents=True)
    write_record(folder, BranchRecord(DRILL, str(tmp_path), 1.0, from_live=False))

    status = run_drill(parent, project, SilentReporter())

    assert read_record(folder) is not None
    assert "is not of a drill" in status.faults[0]
    with pytest.raises(StartRefused, match="Choose another name"):
        create_branch(parent, DRILL, project, SilentReporter())


class Receiver(HTTPServer):
    """Answers with the given statuses in turn, and keeps what it got."""

    def __init__(self, statuses: list[int]) -> None:
        received = self.received = list[tuple[dict[str, str], str]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                received.append(({key.lower(): value for key, value in self.headers.items()}, body))
                self.send_response(statuses[min(len(received), len(statuses)) - 1])
                self.send_header("location", f"http://{self.headers['host']}/elsewhere")
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                """Write nothing."""

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> Secret:
        return Secret(f"http://127.0.0.1:{self.server_port}/alarm")


@pytest.fixture
def receivers() -> Iterator[list[Receiver]]:
    made: list[Receiver] = []
    yield made
    for receiver in made:
        receiver.shutdown()
        receiver.server_close()


@pytest.mark.parametrize(
    ("statuses", "reason", "attempts"),
    [([204], "", 1), ([500, 503, 200], "", 3), ([302], "it answered 302", 5), ([410], "it answered 410", 5)],
)
def test_a_failed_drill_is_sent_signed_until_it_is_taken(
    receivers: list[Receiver], statuses: list[int], reason: str, attempts: int
) -> None:
    receivers.append(receiver := Receiver(statuses))
    secret = "whsec_" + base64.b64encode(b"k" * 32).decode()
    settings = Backup(drill_webhook=receiver.url, drill_webhook_secret=Secret(secret))

    said = send_result(settings, DrillStatus(1.0, 2.0, "now", ["a row is missing"]), pause=lambda _: None)

    assert (said, len(receiver.received)) == (reason, attempts)
    headers, body = receiver.received[0]
    sent = Webhook(secret).verify(body, headers)
    assert (sent["type"], sent["data"]["faults"]) == ("restore_drill.failed", ["a row is missing"])
    assert len({headers["webhook-id"] for headers, _ in receiver.received}) == 1


def test_a_drill_that_passed_says_so_without_a_signature_if_there_is_no_key(
    receivers: list[Receiver],
) -> None:
    receivers.append(receiver := Receiver([200]))

    assert send_result(Backup(drill_webhook=receiver.url), DrillStatus(1.0, 2.0, "now", [])) == ""

    headers, body = receiver.received[0]
    assert json.loads(body)["type"] == "restore_drill.passed"
    assert "webhook-signature" not in headers
