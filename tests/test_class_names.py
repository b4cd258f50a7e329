"""A public class name means one thing in the whole code base; the exceptions have a reason here."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
_CLASS = re.compile(r"^ *class ([A-Za-z]\w*)[(:]", re.MULTILINE)
SHARED: dict[str, str] = {}
"""Names that two modules define, and why."""


def test_a_public_class_name_is_defined_once() -> None:
    places = defaultdict[str, list[str]](list)
    for folder in ("services", "broker", "schemas", "workers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in _CLASS.findall(path.read_text()):
                places[name].append(str(path.relative_to(ROOT)))
    repeated = {name: where for name, where in places.items() if len(where) > 1}

    assert {name: where for name, where in repeated.items() if name not in SHARED} == {}
    assert SHARED.keys() - repeated.keys() == set(), "these names are unique now: delete their reasons"
    assert len(SHARED) <= 20
