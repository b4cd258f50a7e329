"""Every `HEADWATER_...` name of the sources is a setting, or stands in the table of the others."""

import re
from pathlib import Path

from schemas.settings.environment import environment_names
from schemas.settings.process_environment import PROCESS_VARIABLES
from schemas.settings.reading import load_settings

ROOT = Path(__file__).resolve().parents[3]
NAME = re.compile(r"\bHEADWATER_[A-Z0-9_]*[A-Z0-9]\b")
SOURCES = ("services", "broker", "workers", "schemas")


def names_in_sources() -> set[str]:
    files = [
        path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".ts")
    ]
    table = ROOT / "schemas" / "settings" / "process_environment.py"
    return {name for path in files if path != table for name in NAME.findall(path.read_text())}


def test_names_in_the_sources_that_are_no_settings_are_exactly_those_of_the_table():
    settings = environment_names().keys()
    others = {
        name
        for name in names_in_sources()
        if name not in settings and name.removesuffix("_FILE") not in settings
    }

    assert others == PROCESS_VARIABLES.keys()


def test_names_of_the_table_cause_no_warning():
    _, warnings = load_settings(b"", dict.fromkeys(PROCESS_VARIABLES, "x"))

    assert warnings == []
