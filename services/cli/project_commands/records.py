"""The record of a project on the command line: options that change it, and texts that show it."""

import click
import msgspec

from services.projects.model import ProjectLimits, ProjectRecord
from services.projects.names import path_url, project_url

host_option = click.option(
    "--host-name",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Host name of the project beside NAME.<host of the server>; repeatable. `none` removes all.",
)
max_requests_option = click.option(
    "--max-requests",
    type=click.IntRange(min=0),
    help="Requests at the same time; 0: no limit.  [default: 200]",
)
max_sockets_option = click.option(
    "--max-sockets", type=click.IntRange(min=0), help="Open WebSockets; 0: no limit.  [default: 1000]"
)
disk_limit_option = click.option(
    "--disk-limit",
    type=click.IntRange(min=0),
    metavar="MB",
    help="Size of its data from which writes are refused; 0: no limit.  [default: 0]",
)
sleep_after_option = click.option(
    "--sleep-after",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Time without a request after which it sleeps; 0: never.  [default: 300]",
)


def changed_limits(
    limits: ProjectLimits, requests: int | None, sockets: int | None, disk: int | None, sleep: float | None
) -> ProjectLimits:
    """Return limits with those replaced that an option names."""
    given = {"requests": requests, "sockets": sockets, "disk_mib": disk, "sleep_after_s": sleep}
    return msgspec.structs.replace(
        limits, **{name: value for name, value in given.items() if value is not None}
    )


def named_hosts(hosts: tuple[str, ...]) -> list[str]:
    """Return the host names of the option; `none` alone is no name."""
    return [host for host in hosts if host != "none"]


def addresses(record: ProjectRecord, url: str) -> dict[str, str]:
    """Return the addresses of a project by their names in `.env` files."""
    api = project_url(record, url)
    return {"API_URL": api, "STUDIO_URL": f"{api}/_/", "PATH_URL": path_url(record, url)}


def limit_texts(limits: ProjectLimits) -> dict[str, str]:
    """Return the limits of a project as a user reads them."""

    def text(value: float, unit: str = "") -> str:
        return f"{value:g}{unit}" if value else "no limit"

    return {
        "Requests at once": text(limits.requests),
        "WebSockets": text(limits.sockets),
        "Disk limit": text(limits.disk_mib, " MB"),
        "Sleeps after": text(limits.sleep_after_s, " s") if limits.sleep_after_s else "never",
    }
