"""Runs the operator's program that writes and removes a record: `certificates.dns.hook`, with `present` or `cleanup` as its last argument.

No shell reads its words. It finds the record in environment variables, under names of ours and under those that certbot gives to its
manual hooks. Its environment has nothing else of this process but PATH, HOME and LANG: no password of the platform.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence

_KEPT = ("PATH", "HOME", "LANG")
_SHOWN = 1000
"""Characters of its output that an error shows: the last ones."""


class HookWriter:
    """Writes records with a program; each call of it may take `timeout_s`."""

    def __init__(self, hook: Sequence[str], timeout_s: float) -> None:
        self._hook, self._timeout_s = list(hook), timeout_s

    def present(self, name: str, value: str, domain: str) -> None:
        """Add a TXT record. Raises: OSError with the reason as its text."""
        self._run("present", name, value, domain)

    def remove(self, name: str, value: str, domain: str) -> None:
        """Remove it. Raises: OSError with the reason as its text."""
        self._run("cleanup", name, value, domain)

    def _run(self, action: str, name: str, value: str, domain: str) -> None:
        """Run the program and wait for its end; its output is read from a file, which a process it leaves behind cannot hold open."""
        environment = {key: os.environ[key] for key in _KEPT if key in os.environ} | {
            "HEADWATER_DNS_ACTION": action,
            "HEADWATER_DNS_NAME": name,
            "HEADWATER_DNS_VALUE": value,
            "HEADWATER_DNS_DOMAIN": domain,
            "CERTBOT_DOMAIN": domain,
            "CERTBOT_VALIDATION": value,
        }
        command = [*self._hook, action]
        with tempfile.TemporaryFile() as output:
            try:
                process = subprocess.Popen(  # noqa: S603 - the operator's own program, without a shell
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                    env=environment, process_group=0,
                )  # fmt: skip
            except OSError as error:
                raise OSError(
                    f"certificates.dns.hook cannot be started: {error.strerror}: {self._hook[0]}"
                ) from None
            try:
                code = process.wait(self._timeout_s)
            except subprocess.TimeoutExpired:
                ended = f"did not end in {self._timeout_s:g} s"
            else:
                ended = f"ended with {code}" if code else ""
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # also what it left behind
                process.wait()
            if ended:
                raise OSError(f"`{shlex.join(command)}` {ended}{_said(output.fileno())}")


def _said(output: int) -> str:
    """Return the end of what the program wrote."""
    size = os.fstat(output).st_size
    text = os.pread(output, 4 * _SHOWN, max(0, size - 4 * _SHOWN)).decode(errors="replace").strip()
    return f": {text[-_SHOWN:]}" if text else " without a word"
