"""`headwater logs`: print or follow the log files of a platform's parts."""

import contextlib
import os
import time
from pathlib import Path

import click

from services.cli.options import data_folder, platform_options, refuse
from services.supervisor.data_folder.folder import DataFolder

_POLL_S = 0.2
_READ_SIZE = 64 * 1024


@click.command()
@platform_options
@click.option(
    "-s",
    "--service",
    "services",
    multiple=True,
    metavar="NAME",
    help="Part to show, repeatable.  [default: all]",
)
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    help="Last lines of each part.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on showing what is written, until Ctrl-C.")
def logs(
    data: Path | None, project: Path | None, services: tuple[str, ...], lines: int, follow: bool
) -> None:
    """Show or follow what the parts of a platform wrote.

    Also after it was stopped. Parts are supervisor, postgres, nats, migrate, pools and edges. The files lie in the folder `logs` of the data
    folder and are rotated at 10 MB; three older ones are kept.
    """
    folder = data_folder(data, project)
    files = _files(folder, services)
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
