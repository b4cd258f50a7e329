"""Operations on reports: saved queries as numbers, charts and tables on a page, kept as `reports/*.json` of the project folder."""

import asyncio
from typing import Annotated, Literal

import msgspec
from msgspec import Struct

from workers.management.areas.project_texts import folder_errors, folder_of_texts
from workers.management.interface import argument_limits as limits
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.account import Done, NoArguments
from workers.project.snippet_files import (
    REPORTS,
    SnippetFile,
    is_snippet_name,
    list_snippets,
    read_snippet,
    remove_snippet,
    write_snippet,
)

_MOST_TILES = 24
_LONGEST_TITLE = 120
_LONGEST_COLUMN = 63
_LEAST_REFRESH_S = 5
_MOST_REFRESH_S = 86_400


class ReportTile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A saved query (a snippet, by its name) and how its result is shown.

    `x` and `y` are names of columns of the result: across and up of a chart, `y` the value of a number; empty for the first that fits.
    """

    snippet: str
    shown_as: Literal["number", "line", "bar", "table"]
    title: Annotated[str, limits.text(_LONGEST_TITLE, least=0)] = ""
    x: Annotated[str, limits.text(_LONGEST_COLUMN, least=0)] = ""
    y: Annotated[str, limits.text(_LONGEST_COLUMN, least=0)] = ""
    is_wide: bool = False


class Report(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The parts of a report in order. `range_s`: the time range that is shown first, in seconds up to now; `refresh_s`: 0 for never."""

    tiles: Annotated[list[ReportTile], limits.entries(_MOST_TILES, least=0)] = []
    range_s: Annotated[int, limits.number(60, 366 * 86_400)] = 86_400
    refresh_s: Annotated[int, limits.number(0, _MOST_REFRESH_S)] = 0


class ReportList(Struct, frozen=True):
    """The reports by name; `folder_is_known`: whether this process sees the project folder at all."""

    reports: list[SnippetFile]
    folder_is_known: bool


class ReportReference(Struct, frozen=True, forbid_unknown_fields=True):
    """A report by its name."""

    name: str


class NamedReport(Struct, frozen=True):
    """A report and its name."""

    name: str
    report: Report


class SavedReport(Struct, frozen=True, forbid_unknown_fields=True):
    """A report to write. `replaces`: although there is one of this name."""

    name: str
    report: Report
    replaces: bool = False


async def list_all(context: OperationContext, arguments: NoArguments) -> ReportList:
    """Return the reports of the project folder, 500 at most."""
    del arguments
    folder = context.settings.project_folder
    if folder is None or not folder.is_dir():
        return ReportList([], False)
    with folder_errors("report", ""):
        return ReportList(await asyncio.to_thread(list_snippets, folder, REPORTS), True)


async def read(context: OperationContext, arguments: ReportReference) -> NamedReport:
    """Return a report."""
    folder = folder_of_texts(context, arguments.name)
    with folder_errors("report", arguments.name):
        text = await asyncio.to_thread(read_snippet, folder, arguments.name, REPORTS)
    try:
        report = msgspec.json.decode(text, type=Report)
        _check(
            report
        )  # a file may have been written by hand: too many parts, or one that is read each moment
        return NamedReport(arguments.name, report)
    except (msgspec.MsgspecError, RecursionError, ManagementError) as error:
        raise ManagementError(
            409,
            "report_unreadable",
            f"The file reports/{arguments.name}.json is not a report: {error}",
            hint="Correct the file, or remove the report.",
        ) from None


async def save(context: OperationContext, arguments: SavedReport) -> Done:
    """Write a report as a file of the project folder. A report of this name stays unless `replaces` is on."""
    folder = folder_of_texts(context, arguments.name)
    _check(arguments.report)
    text = msgspec.json.format(msgspec.json.encode(arguments.report), indent=2).decode() + "\n"
    with folder_errors("report", arguments.name):
        await asyncio.to_thread(
            write_snippet, folder, arguments.name, text, replaces=arguments.replaces, kind=REPORTS
        )
    return Done()


async def remove(context: OperationContext, arguments: ReportReference) -> Done:
    """Remove a report from the project folder. Its text goes into the audit row."""
    folder = folder_of_texts(context, arguments.name)
    with folder_errors("report", arguments.name):
        context.before = await asyncio.to_thread(read_snippet, folder, arguments.name, REPORTS)
        await asyncio.to_thread(remove_snippet, folder, arguments.name, REPORTS)
    return Done()


def _check(report: Report) -> None:
    if len(report.tiles) > _MOST_TILES:
        raise invalid_arguments(f"`tiles` may have {_MOST_TILES} entries")
    if not 60 <= report.range_s <= 366 * 86_400:
        raise invalid_arguments("`range_s` must be 60 to 31622400 seconds")
    if report.refresh_s != 0 and not _LEAST_REFRESH_S <= report.refresh_s <= _MOST_REFRESH_S:
        raise invalid_arguments(f"`refresh_s` must be 0, or {_LEAST_REFRESH_S} to {_MOST_REFRESH_S} seconds")
    for tile in report.tiles:
        if not is_snippet_name(tile.snippet):
            raise invalid_arguments("`snippet` must be the name of a snippet; snippets.list shows them")
        if len(tile.title) > _LONGEST_TITLE or max(len(tile.x), len(tile.y)) > _LONGEST_COLUMN:
            raise invalid_arguments(
                f"`title` may have {_LONGEST_TITLE} characters, `x` and `y` {_LONGEST_COLUMN}"
            )


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("reports.list", "List the reports of the project folder", NoArguments, ReportList, reader, list_all),
        Operation("reports.read", "Read a report", ReportReference, NamedReport, reader, read),
        Operation("reports.save", "Save a report as a file of the project folder", SavedReport, Done, developer, save, changes=True),
        Operation("reports.remove", "Remove a report", ReportReference, Done, developer, remove, changes=True),
    ]  # fmt: skip
