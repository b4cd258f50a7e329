"""`headwater logs`: print or follow the log files of a platform's parts, or search the store of log lines."""

import contextlib
import itertools
import os
import sqlite3
import sys
import time
from pathlib import Path

import click

from broker.logs.query import LogFilter
from broker.logs.search import MOST_OF_REQUEST, new_lines
from broker.logs.store import FOLDER, segment_paths
from schemas.logs import LEVELS
from services.cli.options import data_folder, platform_options, refuse
from services.cli.stored_logs import following, json_line, last_lines, read_time, text_line
from services.supervisor.data_folder.folder import DataFolder

_POLL_S = 0.2
_READ_SIZE = 64 * 1024


_FILTERS = ("request_id", "level", "area", "status", "user", "function", "process", "text")


@click.command()
@platform_options
@click.option(
    "-s",
    "--service",
    "services",
    multiple=True,
    metavar="NAME",
    help="Part whose file to show, repeatable.  [default: all]",
)
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0, max=100_000),
    default=50,
    show_default=True,
    help="Last lines: of each file, or of what is found.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on showing what is written, until Ctrl-C.")
@click.option("--request-id", metavar="ID", help="All lines of a request (x-request-id of its answer).")
@click.option("--since", metavar="TIME", help="From a time on, or an age: 15m, 2h, 7d.")
@click.option("--until", metavar="TIME", help="Before a time, or an age.")
@click.option("--level", type=click.Choice(LEVELS), help="This level and those above.")
@click.option("--area", metavar="NAME", help="rest, graphql, auth, storage, realtime, functions, management.")
@click.option("--status", metavar="STATUS", help="A status such as 404, or a class such as 5xx.")
@click.option("--user", metavar="ID", help="The user of the access token.")
@click.option("--function", metavar="NAME")
@click.option("--process", metavar="NAME", help="edges, pools, changes, images, functions.")
@click.option("--text", metavar="WORDS", help="Each of these words begins a word of the line.")
@click.option("--json", "is_json", is_flag=True, help="One JSON object a line, from the store.")
def logs(
    data: Path | None,
    project: Path | None,
    services: tuple[str, ...],
    lines: int,
    *,
    follow: bool,
    since: str | None,
    until: str | None,
    is_json: bool,
    **filters: str | None,
) -> None:
    """Show, search or follow what the parts of a platform wrote, also after it was stopped.

    Without a filter: the files in the folder `logs` of the data folder, of supervisor, postgres, nats, migrate, pools and edges. They are
    rotated at 10 MB; three older ones are kept.

    With a filter, --since, --until or --json: the store of log lines (docs/observability.md), which has the lines of all processes of
    ours, of all machines, and what each request left at the gateway, in its pool, in SQL and in functions.
    """
    folder = data_folder(data, project)
    if is_json or since or until or any(filters.values()):
        if services:
            refuse("--service shows files; with a filter use --process.", code=2)
        _show_stored(
            folder.path / FOLDER, _filter_of(filters, since, until), lines, follow=follow, is_json=is_json
        )
        return
    _show_files(_files(folder, services), lines, follow=follow)


def _filter_of(filters: dict[str, str | None], since: str | None, until: str | None) -> LogFilter:
    """Return the filter of the options; a wrong one ends the command."""
    now_s = time.time()
    try:
        return LogFilter(
            since_ms=read_time(since, now_s) if since else 0,
            until_ms=read_time(until, now_s) if until else 1 << 62,
            **{name: filters.get(name) or "" for name in _FILTERS},
        )
    except ValueError as error:
        refuse(str(error), code=2)


def _show_stored(store: Path, query: LogFilter, count: int, *, follow: bool, is_json: bool) -> None:
    """Print the last matching lines of the store, then new ones."""
    if not segment_paths(store):
        refuse(
            f"There is no store of log lines in {store}. It is made by a running platform, unless log.store.enabled is off; "
            "`headwater logs` without filters shows the files.",
            code=1,
        )
    is_coloured = sys.stdout.isatty()
    if query.request_id and not follow:
        count = MOST_OF_REQUEST
    try:
        cursor = new_lines(store, query, 1).next if follow else ""
        first = last_lines(store, query, count)
    except (sqlite3.Error, OSError) as error:
        refuse(f"The store in {store} cannot be read: {error}", code=1)
    shown_places = {line.place for line in first}  # a line may arrive between the cursor and the last lines
    arriving = (line for line in following(store, query, cursor) if line.place not in shown_places)
    for line in itertools.chain(first, arriving if follow else ()):
        click.echo(json_line(line.record) if is_json else text_line(line.record, is_coloured=is_coloured))


def _show_files(files: list[Path], lines: int, *, follow: bool) -> None:
    with contextlib.ExitStack() as opened:
        tails = [
            opened.enter_context(contextlib.closing(Tail(path, with_name=len(files) > 1))) for path in files
        ]
        for tail in tails:
            tail.show_last(lines)
        while follow:
            if not any([tail.show_new() for tail in tails]):
                time.sleep(_POLL_S)


class Tail:
    """One log file that is being printed. It is opened again when the supervisor has rotated it."""

    def __init__(self, path: Path, *, with_name: bool) -> None:
        self._path = path
        self._file = path.open("rb")
        self._prefix = f"{path.stem:<10} | " if with_name else ""
        self._rest = b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def show_last(self, count: int) -> None:
        """Print the last lines and stay at the end of the file."""
        size = self._file.seek(0, os.SEEK_END)
        at, data = size, b""
        while at > 0 and data.count(b"\n") <= count:
            step = min(_READ_SIZE, at)
            at -= step
            self._file.seek(at)
            data = self._file.read(step) + data
        self._file.seek(size)
        for line in data.splitlines()[-count:] if count else []:
            self._show(line)

    def show_new(self) -> bool:
        """Print what was written since; return whether there was anything."""
        piece = self._file.read(_READ_SIZE)
        if not piece and self._was_rotated():
            self._file.close()
            self._file = self._path.open("rb")
            return True
        if not piece and os.fstat(self._file.fileno()).st_size < self._file.tell():  # a program emptied it
            self._file.seek(0)
            self._rest = b""
            return True
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._show(line)
        return bool(piece)

    def _show(self, line: bytes) -> None:
        click.echo(self._prefix + line.decode(errors="replace"))

    def _was_rotated(self) -> bool:
        try:
            return self._path.stat().st_ino != os.fstat(self._file.fileno()).st_ino
        except OSError:
            return False


def _files(folder: DataFolder, services: tuple[str, ...]) -> list[Path]:
    logs = {path.stem: path for path in sorted(folder.logs.glob("*.log"))}
    if not logs:
        refuse(f"There are no logs in {folder.path}. Name another data folder with --data.", code=1)
    for name in services:
        if name not in logs:
            refuse(f"There is no log of '{name}'. Choose of {', '.join(logs)}.", code=2)
    return [path for name, path in logs.items() if not services or name in services]
