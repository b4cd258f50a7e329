"""Run the server of projects in this process: its lock, its log, its options."""

import asyncio
import os

import msgspec

from schemas.system_errors import system_error_text
from services.projects.model import FrontOptions
from services.projects.names import server_url
from services.projects.registry import ServerFolder, lock_server
from services.projects.server import ProjectsServer
from services.supervisor.data_folder.folder import write_private
from services.supervisor.errors import SupervisorError
from services.supervisor.processes.log_files import LogFile
from services.supervisor.report import RecordingReporter, Reporter


def run_server(folder: ServerFolder, options: FrontOptions, report: Reporter) -> int:
    """Serve until a signal; return the exit code. The options are stored for the next start."""
    try:
        lock = lock_server(folder)
    except SupervisorError as error:
        report.warn(str(error))
        return error.exit_code
    recording = RecordingReporter(report, LogFile(folder.log))
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        write_private(folder.options, msgspec.json.format(msgspec.json.encode(options)))
        asyncio.run(_serve(folder, options, recording))
        recording.info("Stopped")
    except SupervisorError as error:
        recording.warn(str(error))
        return error.exit_code
    except OSError as error:
        recording.warn(f"The machine refused it: {system_error_text(error)}")
        return 1
    finally:
        os.close(lock)
    return 0


async def _serve(folder: ServerFolder, options: FrontOptions, report: Reporter) -> None:
    """Create the server on the loop that runs it: it has a semaphore and a lock of that loop."""
    await ProjectsServer(folder, options, server_url(options), report).run()
