"""Wrong input to commands, without a platform: one clear sentence and exit code 2, before anything is read or written."""

import pytest
from click.testing import CliRunner

from services.cli.main import main


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("keys --signing --backup", "exclude one another"),
        ("keys --backup --development", "exclude one another"),
        ("history erase", "Name a row, TABLE and KEY, or a person: --person SUB"),
        ("history erase notes 1 --column owner", "--column needs TABLE and --person SUB"),
        ("history erase --person a --column owner", "--column needs TABLE and --person SUB"),
        ("history show notes 1 --limit 0", "0 is not in the range"),
        ("history on notes --days 0", "0 is not in the range"),
        ("webhooks add a https://example.com", "Name the table whose rows are sent: --table"),
        ("webhooks replay a", "Name what is sent again: --since TIME, --id ID or --failed"),
        ("webhooks deliveries --limit 0", "0 is not in the range"),
        ("branch create a --archive b", "--archive names where the moment of --at is"),
        ("backup drill", "Write --drill, or ./drill for a folder of this name"),
        ("backup --drill folder", "--drill takes no FOLDER"),
        ("backup --drill --list", "--drill and --list exclude one another"),
        ("test db --junit none/results.xml", "There is no folder"),
        ("db access-diff --channel=", "a channel has a name"),
    ],
)
def test_a_wrong_line_is_answered_by_what_is_right(tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)

    done = CliRunner().invoke(main, words.split())

    assert done.exit_code == 2
    assert sentence in done.output
