from services.supervisor.processes.log_files import LogFile
from services.supervisor.report import RecordingReporter


def test_everything_is_passed_on_and_written_down_but_keys(notes, tmp_path):
    log = LogFile(tmp_path / "supervisor.log")
    report = RecordingReporter(notes, log)
    report.info("a step")
    report.warn("a warning")
    report.ready({"SECRET_KEY": "hidden"}, 1.0)
    report.record("for the log")
    log.close()
    written = (tmp_path / "supervisor.log").read_text()

    assert notes.lines == ["a step"]
    assert notes.warnings == ["a warning"]
    assert notes.values == {"SECRET_KEY": "hidden"}
    assert [line.partition(" ")[2] for line in written.splitlines()] == [
        "a step",
        "warning: a warning",
        "everything is ready after 1.0 s",
        "for the log",
    ]
