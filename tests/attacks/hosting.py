"""Hostile functions on a running platform: deployed by whoever has the secret key, then called."""

import contextlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from schemas.settings.functions import FunctionSettings
from tests.platform import Platform
from tests.workers.functions.bundling import OPEN, archive, bundle

_WORKER_S = 60.0


@dataclass(frozen=True, slots=True)
class Hosting:
    """A platform, and what an attacker who may deploy does with it."""

    platform: Platform

    @property
    def data(self) -> Path:
        return self.platform.data

    def put(self, name: str, packed: bytes) -> tuple[int, str]:
        """Deploy a bundle; return status and body. The worker comes with the first deployment: it is waited for."""
        deadline = time.monotonic() + _WORKER_S
        while True:
            status, told = self._sent("PUT", f"/functions/v1/_internal/functions/{name}", packed)
            if status != 503 or time.monotonic() > deadline:
                return status, told
            time.sleep(0.1)

    @property
    def home(self) -> Path:
        """The folder in which functions run: below the data folder, or where users without rights can reach it."""
        own = self.data / "functions"
        owners = [own / "owner", *Path("/var/lib/headwater/functions").glob("*/owner")]
        return next(
            (each.parent for each in owners if each.is_file() and each.read_text() == str(self.data)), own
        )

    def deploy(
        self, name: str, files: Mapping[str, str] | str, settings: FunctionSettings = OPEN
    ) -> tuple[int, str]:
        """Deploy sources: one text, or texts by their path below the function's folder."""
        texts = {"index.ts": files} if isinstance(files, str) else files
        placed = {
            path if path.startswith("functions/") else f"functions/{name}/{path}": text
            for path, text in texts.items()
        }
        return self.put(name, bundle(name, placed, settings))

    def deploy_bytes(self, name: str, files: Mapping[str, bytes]) -> tuple[int, str]:
        """Deploy files that are no texts."""
        manifest = json.dumps({"name": name, "settings": {"verify_jwt": False}}).encode()
        members = [(f"functions/{name}/{path}", data) for path, data in files.items()]
        return self.put(name, archive([("manifest.json", manifest), *members]))

    def call(self, name: str, body: object = None) -> tuple[int, str]:
        """Call a function."""
        return self._sent("POST", f"/functions/v1/{name}", json.dumps(body).encode())

    def run(self, name: str, source: str, body: object = None) -> Any:
        """Deploy a function and return what it answers as JSON."""
        status, told = self.deploy(name, source)
        assert status == 200, told
        status, answer = self.call(name, body)
        assert status == 200, answer
        return json.loads(answer)

    def put_secrets(self, secrets: Mapping[str, str]) -> tuple[int, str]:
        """Set secrets, which functions are given as variables."""
        deadline = time.monotonic() + _WORKER_S
        while True:
            body = json.dumps(secrets).encode()
            status, told = self._sent("PUT", "/functions/v1/_internal/secrets", body)
            if status != 503 or time.monotonic() > deadline:
                return status, told
            time.sleep(0.1)

    def delete(self, name: str) -> None:
        self._sent("DELETE", f"/functions/v1/_internal/functions/{name}", b"")

    @property
    def database(self) -> Path:
        """The data folder of the database server: what its process runs in."""
        supervisor = psutil.Process(self.platform.pid)
        return Path(next(each for each in supervisor.children() if each.name() == "postgres").cwd())

    def secrets(self) -> dict[Path, bytes]:
        """Return files that no function may read, with a piece of each that an answer must not hold."""
        files = [
            self.data / "passwords.json",
            self.data / "state.json",
            self.data / "s3.json",
            self.data / "sealing.key",
        ]
        files += [
            self.database / each
            for each in ("pg_hba.conf", "postgresql.conf", "global/1260", "global/pg_control")
        ]
        files += [*self.database.parent.rglob("vault.key")]
        return {file: file.read_bytes()[:64] for file in files if file.is_file()}

    def processes(self) -> list[psutil.Process]:
        """Return the processes of functions, here and now."""
        supervisor = psutil.Process(self.platform.pid)
        return [each for each in supervisor.children(recursive=True) if each.name().startswith("deno")]

    def have_children(self) -> bool:
        """Return whether a process of a function has started one; those that end meanwhile have none."""
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.children():
                    return True
        return False

    def worker(self) -> psutil.Process:
        """Return the functions worker."""
        supervisor = psutil.Process(self.platform.pid)
        return next(each for each in supervisor.children() if "functions" in each.cmdline()[-3:])

    def _sent(self, method: str, path: str, body: bytes) -> tuple[int, str]:
        key = self.platform.values["SERVICE_ROLE_KEY"]
        headers = {"apikey": key, "authorization": f"Bearer {key}", "content-type": "application/json"}
        asked = urllib.request.Request(self.platform.url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace")
