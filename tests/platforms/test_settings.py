"""Settings that an administrator changes apply in every process of a running platform, and survive its crashes."""

import asyncio
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform import Platform, platform
from tests.platforms.conftest import pid_of
from workers.settings.sealed_values import SettingsSealer, StoredValue

PATIENCE_S = 60
WITHOUT_LIMITS = {"HEADWATER_AUTH_RATE_LIMIT_SIGN_IN_SIGN_UPS": "0"}


@dataclass
class Owner:
    """An owner who is signed in to a platform by a link."""

    running: Platform
    cookie: str = ""

    def sign_in(self, email: str) -> None:
        """Add the owner by the machine's command, and sign in with the link."""
        added = self.running.command("admin", "add", email, "--rights", "owner")
        assert added.returncode == 0, added.stderr
        _, headers, _ = self.send("/sign-in", {"link": added.stdout.split()[-1].rpartition("#")[2]})
        self.cookie = headers["set-cookie"].partition(";")[0]

    def send(self, path: str, body: object) -> tuple[int, Any, Any]:
        """Send a request as a page of the platform would, and return status, headers and JSON."""
        headers = {"content-type": "application/json", "origin": self.running.url, "cookie": self.cookie}
        request = urllib.request.Request(
            f"{self.running.url}/management/v1{path}", json.dumps(body).encode(), headers
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                return response.status, response.headers, json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, json.loads(error.read())

    def run(self, name: str, /, **arguments: object) -> Any:
        """Run an operation that must succeed."""
        status, _, result = self.send(f"/operations/{name}", arguments)
        assert status == 200, result
        return result

    def refused(self, name: str, /, **arguments: object) -> tuple[int, str, str]:
        """Run an operation that must fail; return status, code and message."""
        status, _, error = self.send(f"/operations/{name}", arguments)
        return status, error["code"], error["message"]

    @property
    def version(self) -> int:
        """The version of the stored settings."""
        return int(self.run("settings.list", prefix="log")["version"])

    def change(self, **values: object) -> int:
        """Change settings, whose dots are written as `__`; return the version."""
        dotted = {key.replace("__", "."): value for key, value in values.items()}
        return int(self.run("settings.change", version=self.version, values=dotted)["version"])


@pytest.fixture(scope="module")
def running() -> Iterator[Platform]:
    """A platform whose sign-ups are not limited."""
    with platform(environment=WITHOUT_LIMITS) as started:
        yield started


@pytest.fixture(scope="module")
def owner(running: Platform) -> Owner:
    """A signed-in owner."""
    signed_in = Owner(running)
    signed_in.sign_in("ada@example.com")
    return signed_in


@dataclass
class SecondWorker:
    """Another process with the pools auth and rest, as on a second machine."""

    log: Path
    process: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def second(running: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecondWorker]:
    """A second process of workers beside the platform's."""
    passwords = json.loads((running.data / "passwords.json").read_text())
    ports = json.loads((running.data / "ports.json").read_text())
    log = tmp_path_factory.mktemp("second") / "log"
    ready, ready_here = os.pipe()
    environment = {
        **{name: text for name, text in os.environ.items() if not name.startswith("HEADWATER_")},
        **WITHOUT_LIMITS,
        "HEADWATER_DB_URL": running.login_url("authenticator"),
        "HEADWATER_DB_AUTH_ADMIN_PASSWORD": passwords["supabase_auth_admin"],
        **running.sealing_environment,
        "HEADWATER_BROKER_URL": f"nats://pool:{passwords['pool']}@127.0.0.1:{ports['nats']}",
        "HEADWATER_DATA": str(running.data),
        "HEADWATER_LOG_FORMAT": "json",
        "HEADWATER_API_PORT": str(running.port),
        "HEADWATER_INBUCKET_PORT": str(ports["mail"]),
        "HEADWATER_INBUCKET_SMTP_PORT": str(ports["smtp"]),
        "HEADWATER_READY_FD": str(ready_here),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "workers", "auth", "rest"],
            env=environment,
            stdout=output,
            stderr=output,
            pass_fds=[ready_here],
        )
    os.close(ready_here)
    assert os.read(ready, 6) == b"ready\n", log.read_text()
    yield SecondWorker(log, process)
    process.terminate()
    process.wait(PATIENCE_S)
    os.close(ready)


def sign_up(running: Platform) -> tuple[int, str]:
    """Sign up a new user; return the status and the error code."""
    body = json.dumps({"email": f"{uuid.uuid4().hex}@example.com", "password": "correct horse"}).encode()
    headers = {"apikey": running.values["ANON_KEY"], "content-type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("POST", "/auth/v1/signup", body, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read()).get("error_code", "")


@dataclass
class Traffic:
    """Sign-ups that go on in a thread until the block ends."""

    running: Platform
    answers: list[tuple[int, str]] = field(default_factory=list)
    begun: list[float] = field(default_factory=list)
    """When the request of each answer was sent."""
    failures: list[str] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def _work(self) -> None:
        while not self._is_over.is_set():
            begun = time.monotonic()
            try:
                answer = sign_up(self.running)
                with self._lock:
                    self.answers.append(answer)
                    self.begun.append(begun)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """Send them by two threads at a time."""
        threads = [threading.Thread(target=self._work) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            for thread in threads:
                thread.join()


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def lines(log: Path, kind: str) -> list[dict[str, Any]]:
    """Return the observations of a kind in a log of JSON lines."""
    records = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return [record for record in records if record.get("kind") == kind]


def applied_versions(log: Path) -> list[int]:
    """Return the versions of the stored settings that a process applied."""
    return [record["version"] for record in lines(log, "SettingsApplied")]


CLOSED = (422, "signup_disabled")


def test_sign_ups_are_closed_in_every_process_without_a_failed_request(
    running: Platform, owner: Owner, second: SecondWorker
) -> None:
    logs = [running.data / "logs" / "pools.log", second.log]
    traffic = Traffic(running)
    with traffic.going_on():
        until(lambda: len(traffic.answers) > 10, "no sign-ups")
        version = owner.change(auth__enable_signup=False)
        until(
            lambda: all(version in applied_versions(log) for log in logs),
            "a process did not apply the change",
        )
        applied, before = time.monotonic(), len(traffic.answers)
        until(lambda: len(traffic.answers) > before + 20, "no sign-ups")
    after = [answer for answer, begun in zip(traffic.answers, traffic.begun, strict=True) if begun > applied]

    assert traffic.failures == []
    assert set(traffic.answers) == {(200, ""), CLOSED}
    assert set(after) == {CLOSED}


def test_a_killed_worker_comes_back_with_the_changed_settings(
    running: Platform, owner: Owner, second: SecondWorker
) -> None:
    owner.change(auth__enable_signup=False)
    killed = pid_of(running, "pools")
    os.kill(killed, signal.SIGKILL)
    second.process.send_signal(signal.SIGSTOP)  # only the new process answers
    try:
        until(lambda: _has_other_pools(running, killed), "the pools did not come back")
        until(lambda: sign_up(running)[0] != 503, "no sign-up was answered")
        answers = {sign_up(running) for _ in range(5)}
    finally:
        second.process.send_signal(signal.SIGCONT)

    assert answers == {CLOSED}


def _has_other_pools(running: Platform, killed: int) -> bool:
    state = json.loads((running.data / "state.json").read_text())
    return any(child["name"] == "pools" and child["pid"] not in (None, killed) for child in state["children"])


def test_edges_apply_what_concerns_them(running: Platform, owner: Owner) -> None:
    def allowed() -> str | None:
        request = urllib.request.Request(f"{running.url}/rest/v1/", headers={"origin": "https://app.example"})
        try:
            with urllib.request.urlopen(request) as response:
                return response.headers["access-control-allow-origin"]
        except urllib.error.HTTPError as error:
            with error:
                return error.headers["access-control-allow-origin"]

    assert allowed() is not None
    owner.change(api__cors_allowed_origins=["https://other.example"])
    until(lambda: allowed() is None, "the edge did not apply the change")
    owner.run("settings.reset", version=owner.version, keys=["api.cors_allowed_origins"])
    until(lambda: allowed() is not None, "the edge did not apply the reset")


def test_rows_and_sizes_of_the_interfaces_change(running: Platform, owner: Owner) -> None:
    running.psql(
        "create table public.numbers as select generate_series(1, 9) as n; grant select on numbers to anon"
    )
    running.wait_for_catalog("numbers")
    assert _upload(running, "before", 3000) == 200

    owner.change(api__max_rows=2, storage__file_size_limit="1KiB")

    until(lambda: len(json.loads(running.get("/rest/v1/numbers")[1])) == 2, "rest did not apply the change")
    until(lambda: _upload(running, uuid.uuid4().hex, 3000) == 413, "storage did not apply the change")
    owner.run("settings.reset", version=owner.version, keys=["api.max_rows", "storage.file_size_limit"])
    until(lambda: len(json.loads(running.get("/rest/v1/numbers")[1])) == 9, "rest did not apply the reset")
    until(lambda: _upload(running, uuid.uuid4().hex, 3000) == 200, "storage did not apply the reset")


def _upload(running: Platform, name: str, size: int) -> int:
    """Upload an object as a trusted server, into a bucket that is made if it is not there; return the status inside of the body."""
    key = running.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "authorization": f"Bearer {key}"}
    for path, kind, body in (
        ("bucket", "application/json", b'{"name": "files", "id": "files"}'),
        (f"object/files/{name}", "text/plain", b"x" * size),
    ):
        request = urllib.request.Request(
            f"{running.url}/storage/v1/{path}", body, {**headers, "content-type": kind}
        )
        try:
            with urllib.request.urlopen(request) as response:
                status = response.status
        except urllib.error.HTTPError as error:
            with error:
                status = int(json.loads(error.read())["statusCode"])
    return status


def test_the_checks_of_auth_refuse_with_the_words_of_a_start(owner: Owner) -> None:
    bad = {"auth.email.template.invite.content": "{{ if }}"}

    status, code, message = owner.refused("settings.change", version=owner.version, values=bad)

    assert (status, code) == (400, "invalid_settings")
    assert message.startswith("auth.email.template.invite.content: ")
    fixed = {"auth.rate_limit.sign_in_sign_ups": 5}
    assert owner.refused("settings.change", version=owner.version, values=fixed)[:2] == (
        409,
        "fixed_by_environment",
    )


def test_what_cannot_be_used_after_an_upgrade_does_not_stop_the_platform(
    running: Platform, owner: Owner, second: SecondWorker
) -> None:
    version = owner.change(auth__enable_signup=False)
    asyncio.run(_store_bad_template(running, version))
    killed = pid_of(running, "pools")
    os.kill(killed, signal.SIGKILL)
    second.process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: _has_other_pools(running, killed), "the pools did not come back")
        until(lambda: sign_up(running)[0] != 503, "no sign-up was answered")
        answer = sign_up(running)
        listed = owner.run("settings.list", prefix="auth.email.template.invite.content")
    finally:
        second.process.send_signal(signal.SIGCONT)

    assert answer == CLOSED
    [shown] = listed["settings"]
    assert shown["source"] == "default"
    assert "auth.email.template.invite.content" in shown["ignored"]
    owner.run("settings.reset", version=owner.version, keys=["auth.email.template.invite.content"])


async def _store_bad_template(running: Platform, version: int) -> None:
    """Store a template that no version of ours would have taken, beside what is stored."""
    sealer = SettingsSealer(running.sealing_settings)
    connection = await asyncpg.connect(running.login_url("headwater_management"))
    try:
        sealed = await connection.fetchval("select sealed from headwater.stored_settings")
        stored = sealer.open(version, sealed)
        entries = {**stored.entries, "auth.email.template.invite.content": StoredValue("{{ if }}")}
        bad = sealer.seal(type(stored)(version + 1, entries))
        await connection.execute(
            "update headwater.stored_settings set version = $1, sealed = $2", version + 1, bad
        )
    finally:
        await connection.close()


def test_templates_are_previewed_tried_and_sent(running: Platform, owner: Owner) -> None:
    kinds = {email["kind"]: email for email in owner.run("mail.templates")}
    invite = owner.run("mail.preview", kind="invite")
    tried = owner.run(
        "mail.preview",
        kind="invite",
        content="<b>{{ .Email }} & {{ .SiteURL }}</b>",
        subject="To {{ .Email }}",
    )

    assert "ConfirmationURL" in kinds["invite"]["variables"]
    assert kinds["invite"]["source"] == "default"
    assert "verify" in invite["html"]
    assert tried["subject"] == "To ada@example.com"
    assert tried["html"].startswith("<b>ada@example.com")
    assert owner.refused("mail.preview", kind="invite", content="{{ if }}")[:2] == (400, "invalid_settings")
    assert owner.refused("mail.preview", kind="none")[:2] == (404, "not_found")

    owner.run("mail.delete_caught", all=True)
    owner.change(auth__email__template__confirmation__content="<p>Mine: {{ .Token }}</p>")
    assert owner.run("mail.send_test") == {"to": "ada@example.com"}
    [caught] = owner.run("mail.caught")["emails"]
    read = owner.run("mail.read_caught", id=caught["id"])
    assert "Mine: 123456" in read["html"]
    owner.run("mail.delete_caught", ids=[caught["id"]])
    assert owner.run("mail.caught")["matches"] == 0
    assert owner.refused("mail.read_caught", id=caught["id"])[:2] == (404, "not_found")


def test_a_mail_server_that_is_away_is_said_in_words(owner: Owner) -> None:
    owner.change(
        auth__email__smtp__host="127.0.0.1",
        auth__email__smtp__port=9,
        auth__email__smtp__admin_email="no-reply@example.com",
        auth__email__smtp__pass="hunter2",
    )

    status, code, message = owner.refused("mail.send_test")
    [password] = owner.run("settings.list", prefix="auth.email.smtp.pass")["settings"]
    keys = ["host", "port", "admin_email", "pass"]
    owner.run("settings.reset", version=owner.version, keys=[f"auth.email.smtp.{key}" for key in keys])

    assert (status, code) == (502, "mail_not_sent")
    assert "127.0.0.1:9 cannot be reached" in message
    assert (password["value"], password["is_set"]) == (None, True)
    logs = (owner.running.data / "logs").glob("*.log")
    assert not [log for log in logs if "hunter2" in log.read_text(errors="replace")]


def test_test_emails_are_limited(owner: Owner) -> None:
    statuses = [owner.send("/operations/mail.send_test", {})[0] for _ in range(12)]

    assert statuses[-1] == 429


def test_providers_are_described_and_checked(running: Platform, owner: Owner) -> None:
    owner.change(
        auth__external__keycloak__enabled=True,
        auth__external__keycloak__client_id="mine",
        auth__external__keycloak__secret="hunter2",
        auth__external__keycloak__url="http://127.0.0.1:9/realms/mine",
    )

    providers = {provider["name"]: provider for provider in owner.run("auth.providers")}
    verdict = owner.run("auth.check_provider", name="keycloak")

    assert providers["keycloak"]["is_enabled"]
    assert providers["keycloak"]["has_secret"]
    assert providers["keycloak"]["callback_url"] == f"{running.url}/auth/v1/callback"
    assert "hunter2" not in json.dumps(providers)
    assert verdict["is_usable"] is False
    until(
        lambda: b'"keycloak":true' in running.get("/auth/v1/settings")[1],
        "the pool of accounts has the provider",
    )


def test_the_command_line_changes_settings_too(running: Platform, owner: Owner) -> None:
    listed = owner.run("settings.list", prefix="api.max_rows")
    passwords = json.loads((running.data / "passwords.json").read_text())
    done = subprocess.run(
        [sys.executable, "-P", "-m", "workers", "operate", "settings.change"],
        input=json.dumps({"version": listed["version"], "values": {"api.max_rows": 1}}),
        env={
            **os.environ,
            "HEADWATER_DB_URL": running.login_url("authenticator"),
            "HEADWATER_DB_MANAGEMENT_PASSWORD": passwords["headwater_management"],
            **running.sealing_environment,
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    until(
        lambda: owner.run("settings.list", prefix="api.max_rows")["settings"][0]["value"] == 1,
        "the platform did not apply the change",
    )


def test_keys_change_under_a_running_client_without_a_failed_request(running: Platform, owner: Owner) -> None:
    """A created key is valid at once at the edge, and a revoked one is refused soon; nothing restarts."""

    def status(key: str) -> int:
        return running.get("/rest/v1/", {"apikey": key})[0]

    former = running.command("keys", "create", "former", "--kind", "secret").stdout.strip()
    assert status(former) == 200
    statuses: list[int] = []
    key, is_over = former, threading.Event()

    def client() -> None:
        while not is_over.is_set():
            statuses.append(status(key))

    thread = threading.Thread(target=client)
    thread.start()
    try:
        key = running.command("keys", "create", "present", "--kind", "secret").stdout.strip()
        seen = len(statuses)
        while len(statuses) < seen + 3:  # each later request has the new key
            time.sleep(0.01)  # between two looks at what the thread has written
        assert running.command("keys", "revoke", "former").returncode == 0
    finally:
        is_over.set()
        thread.join()

    assert set(statuses) == {200}
    deadline = time.monotonic() + PATIENCE_S
    while status(former) != 401:
        assert time.monotonic() < deadline
        time.sleep(0.05)  # between two requests: an edge does not say when it has applied a change
    assert status(key) == 200
    assert running.command("keys", "list").stdout.startswith(f"present: secret ...{key[-4:]}, created ")
    assert owner.run("keys.created")[0]["used_at"] is not None
    assert running.command("keys", "revoke", "present").stdout == "present is revoked\n"
    assert running.command("keys", "revoke", "present").returncode == 1
