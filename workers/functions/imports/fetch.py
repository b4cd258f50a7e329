"""Fetch the modules of one function into its cache: `deno cache`, in a sandbox, once for each state of its sources."""

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from workers.functions.imports.sources import read_text

FETCH_S = 120.0
"""Seconds that fetching the modules of one function may take."""
_PASSED = ("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "LD_LIBRARY_PATH",
           "NPM_CONFIG_REGISTRY", "DENO_CERT", "DENO_TLS_CA_STORE")  # fmt: skip
_LONGEST_FAILURE = 2_000


@dataclass(frozen=True, slots=True)
class FetchSandbox:
    """The sandbox of a program that fetches: a function for the child to call, and variables, such as those of a proxy."""

    enter: Callable[[], None]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


SandboxFactory = Callable[[], AbstractContextManager[FetchSandbox]]


@dataclass(frozen=True, slots=True)
class ModuleFetch:
    """Fetches the modules of one function into its cache."""

    cache: Path
    notes: Path
    program: Path
    start: Path
    config: Path | None
    sandbox: SandboxFactory | None = None
    preload: Path | None = None

    def run(self, import_map: Path | None, digest: str) -> str:
        """Fetch the modules unless this state of the sources was fetched before; return what failed, or ""."""
        mark = hashlib.sha256(
            f"{digest}\0{import_map}\0{self.preload}\0{self._config_text()}".encode()
        ).hexdigest()[:24]
        done = self.notes / "fetched" / mark
        if done.is_file():
            return ""
        try:
            with self.sandbox() if self.sandbox else contextlib.nullcontext() as sandbox:
                result = subprocess.run(  # noqa: S603 - the runtime of the package, with our own arguments
                    self._command(import_map),
                    env=_environment()
                    | dict(sandbox.environment if sandbox else {})
                    | self._own_environment(),
                    cwd=self.start.parent,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=FETCH_S,
                    check=False,
                    preexec_fn=sandbox.enter if sandbox else None,
                )
        except subprocess.TimeoutExpired:
            return f"its modules were not fetched within {FETCH_S:.0f} s"
        except (OSError, subprocess.SubprocessError) as error:
            return f"its modules could not be fetched: {error}"
        if result.returncode:
            return (
                str(result.stderr.decode(errors="replace").strip()[-_LONGEST_FAILURE:])
                or "its modules could not be fetched"
            )
        done.parent.mkdir(parents=True, exist_ok=True)
        done.touch()
        return ""

    def _command(self, import_map: Path | None) -> list[str]:
        return [
            str(self.program),
            "cache",
            "--quiet",
            "--no-lock",
            "--node-modules-dir=none",
            *([f"--import-map={import_map}"] if import_map else []),
            f"--config={self.config}" if self.config else "--no-config",
            str(self.start),
            *([str(self.preload)] if self.preload else []),
        ]

    def _own_environment(self) -> dict[str, str]:
        return {"DENO_DIR": str(self.cache), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"}

    def _config_text(self) -> str:
        files = [self.config, *(self.start.parent / name for name in (".npmrc", "package.json"))]
        return "\0".join(read_text(file) for file in files if file is not None)


def _environment() -> dict[str, str]:
    """Return the part of our environment that fetching needs: proxies, registries, and the machine's certificates."""
    passed = {name: os.environ[name] for name in _PASSED if os.environ.get(name)}
    if "SSL_CERT_FILE" in passed:  # the runtime does not read SSL_CERT_FILE
        passed.setdefault("DENO_CERT", passed["SSL_CERT_FILE"])
    return passed
