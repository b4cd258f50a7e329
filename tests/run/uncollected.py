"""Modules that need not be imported, because the run leaves all their tests out.

A listed module is known from its list. For a test that the fast run leaves out by its fixtures the module has to be imported
once: what it found is kept in pytest's cache, until the module, a `conftest.py` or the rules of the run change. (A fixture that
comes from another module and is changed there is not noticed until then; `make test` runs everything.)
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_MODULES = "tests/modules-that-the-fast-run-leaves-out"
"""Key of pytest's cache: a module's path to the digest of what decided it."""


class KnownModules:
    """Modules of which the last fast run kept no test."""

    def __init__(self, cache: pytest.Cache | None, root: Path = ROOT) -> None:
        self._cache = cache
        self._root = root
        self._digests: dict[str, str] = dict(cache.get(_MODULES, {})) if cache else {}
        rules = sorted(
            [
                *(ROOT / "tests").rglob("conftest.py"),
                *(ROOT / "tests/run").glob("*.py"),
                ROOT / "tests/fast.py",
            ]
        )
        self._rules = hashlib.sha256(b"".join(file.read_bytes() for file in rules))

    def has(self, module: str) -> bool:
        """Return whether nothing has changed since all tests of a module were left out."""
        return module in self._digests and self._digests[module] == self._digest(module)

    def note(self, collected: Iterable[str], kept: Iterable[str]) -> None:
        """Keep which of the collected modules kept no test."""
        if self._cache is None:
            return
        collected, kept = set(collected), set(kept)
        others = {module: digest for module, digest in self._digests.items() if module not in collected}
        self._digests = others | {module: self._digest(module) for module in collected - kept}
        self._cache.set(_MODULES, self._digests)

    def _digest(self, module: str) -> str:
        one = self._rules.copy()
        one.update((self._root / module).read_bytes())
        return one.hexdigest()
