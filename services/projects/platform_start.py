"""Start the platform of one project in the background: `python -P -m services.projects.platform_start`, with the task on standard input.

A process of its own, which exits when the platform is ready. The exit codes are those of `headwater start`; the reason of a failure is on
standard error. What the front gateway decides wins over the project's files: address, ports, and whose X-Forwarded-* count.
"""

import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.system_errors import system_error_text
from services.cli.s3_pair import with_s3_pair
from services.supervisor.data_folder.proxy_secret import ensure_proxy_secret
from services.supervisor.errors import SupervisorError
from services.supervisor.launch import launch
from services.supervisor.ports import LOOPBACK
from services.supervisor.processes.detach import run_detached
from services.supervisor.processes.plan import PartSelection
from services.supervisor.processes.prepared_programs import PreparedPrograms
from services.supervisor.project.settings import load_project
from services.supervisor.report import Reporter

_FREE_PORTS = (
    "HEADWATER_API_PORT",
    "HEADWATER_DB_PORT",
    "HEADWATER_DB_POOLER_PORT",
    "HEADWATER_BROKER_PORT",
    "HEADWATER_INBUCKET_PORT",
    "HEADWATER_INBUCKET_SMTP_PORT",
)


class PlatformTask(Struct, frozen=True):
    """What is started: the project's folder, its data folder, and its public address."""

    folder: str
    data: str
    url: str


class ErrorLines:
    """Reports warnings on standard error, and nothing else: steps are in the platform's own log."""

    def info(self, line: str) -> None:
        """Do nothing."""

    def warn(self, line: str) -> None:
        """Print a warning."""
        print(line, file=sys.stderr, flush=True)

    def ready(self, values: dict[str, str], seconds: float) -> None:
        """Do nothing."""


def overrides_of(url: str, mail_key: str, proxy_secret: str) -> dict[str, str]:
    """Return the settings that the front gateway decides (pure). Free ports: those of the last start, if they still are free.

    `mail_key`: the key of the mail catcher, which programs of other projects reach on loopback. `proxy_secret`: what the front gateway shows,
    for these programs reach the project's gateway, too.
    """
    return {
        **dict.fromkeys(_FREE_PORTS, "0"),
        "HEADWATER_INBUCKET_KEY": mail_key,
        "HEADWATER_GATEWAY_HOST": LOOPBACK,
        "HEADWATER_GATEWAY_TRUSTED_PROXIES": "",
        "HEADWATER_GATEWAY_PROXY_SECRET": proxy_secret,
        "HEADWATER_API_EXTERNAL_URL": url,
        "HEADWATER_API_TLS_ENABLED": "false",
        "HEADWATER_CERTIFICATES_DOMAINS": "",
    }


def start_platform(task: PlatformTask, *, is_loaded: bool = False, closed_later: Sequence[int] = ()) -> int:
    """Start a platform in the background; return the exit code when it is ready, or has failed.

    `is_loaded`: this process is a fork of loaded code, so the platform's first programs are forks of it, too. `closed_later` are descriptors
    of the waiting process that the platform must not keep.
    """

    def run(report: Reporter) -> int:
        for descriptor in closed_later:
            os.close(descriptor)
        prepared = PreparedPrograms() if is_loaded else None
        try:
            choice = PartSelection()
            data = Path(task.data)
            overrides = overrides_of(task.url, secrets.token_urlsafe(24), ensure_proxy_secret(data))
            project = load_project(Path(task.folder), None, data, overrides)
            launch(with_s3_pair(project, choice), choice, report, prepared)
        except SupervisorError as error:
            report.warn(str(error))
            return error.exit_code
        except OSError as error:
            report.warn(f"The machine refused it: {system_error_text(error)}")
            return 1
        return 0

    return run_detached(run, ErrorLines())


def main() -> int:
    """Start the platform of the task on standard input; return the exit code."""
    return start_platform(msgspec.json.decode(sys.stdin.buffer.read(), type=PlatformTask))


if __name__ == "__main__":
    sys.exit(main())
