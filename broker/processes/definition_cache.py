"""Keep what the interpreter compiles for definitions while modules load, so that the next start reads it.

Python stores the code of a module (`__pycache__`), but not what the module compiles when it runs: `dataclasses` writes the text of up
to six functions of a class and compiles it, and `re.compile` translates a pattern. With some 770 data classes and 590 patterns that was a third of
the time in which the fork server loads (docs/decisions.md).

Theory. The code of a text depends on the text and the interpreter alone, and so does a translated pattern on pattern and flags. So
an entry never becomes stale: its key is a digest of its input, and a file of another interpreter is ignored. The file lies beside the
compiled code of this module, with the same rights, and is read under the same trust. Where that folder cannot be written,
or Python may not write compiled code, everything is compiled as usual.

While `stored_definitions()` runs, the name `exec` of the module `dataclasses` and two functions `compile` (`re._compiler`, `_sre`) are
replaced; afterwards they are what they were. The entries are one block of bytes: thousands of objects would leave gaps in the memory that forked processes share.
"""

import dataclasses
import importlib.util
import marshal
import mmap
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

_DIGEST_BYTES = 16
_MOST_BYTES = 16 * 1024 * 1024
"""Of the file; a larger one begins again with what the current start has compiled."""
_FEW = 50
"""What is less than this fraction (1 / 50) of the entries is not worth writing the file: some libraries write the alternatives of a pattern
in random order, so that each start compiles a few that no other start has."""
_FILE_NAME = sys.intern("<string>")
"""As `exec` names it; interned, so that all entries share one."""
_NOT_STORED = re.DEBUG | re.LOCALE
"""Flags of patterns that print what they are, or depend on the locale."""


class DefinitionCache:
    """The entries of a file, and those that are new.

    The file: the interpreter's version, the index and the length of the block, written by `marshal`; then the block, in which the
    index places entries. The block is mapped, not read: as an object it would leave a gap of its size in the memory of this process.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._index: dict[bytes, tuple[int, int]] = {}
        self._block: bytes | memoryview = b""
        self.new: dict[bytes, bytes] = {}
        with suppress(OSError, EOFError, ValueError, TypeError), path.open("rb") as file:
            version, index, length = marshal.load(file)  # noqa: S302 - as trusted as the compiled code beside it
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[file.tell() :]
            if (version, length) == (sys.version, len(mapped)):
                self._index, self._block = index, mapped

    def get(self, key: bytes) -> Any:
        """Return what is stored for a key, or None."""
        if place := self._index.get(key):
            start, stop = place
            return marshal.loads(self._block[start:stop])  # noqa: S302 - as trusted as the compiled code beside it
        return None

    def add(self, key: bytes, value: Any) -> None:
        """Store a value that `marshal` can write."""
        self.new[key] = marshal.dumps(value)

    def save(self) -> None:
        """Write the file if more than a few entries are new and Python may write compiled code; where that fails nothing is stored."""
        if len(self.new) * _FEW <= len(self._index) or sys.dont_write_bytecode:
            return
        is_full = len(self._block) > _MOST_BYTES
        index = {} if is_full else dict(self._index)
        pieces: list[bytes | memoryview] = [] if is_full else [self._block]
        end = sum(map(len, pieces))
        for key, piece in self.new.items():
            index[key] = (end, end := end + len(piece))
            pieces.append(piece)
        with suppress(OSError):  # a folder that this user cannot write: the next start compiles again
            _replace(self._path, [marshal.dumps((sys.version, index, end)), *pieces])


@contextmanager
def stored_definitions(name: str, folder: Path | None = None) -> Iterator[DefinitionCache]:
    """Take what data classes and patterns compile from the file `name` of earlier starts, and add what is not there.

    Programs that load different code use different names. `folder`: instead of the one of compiled code.
    """
    cache = DefinitionCache(definitions_file(name, folder))
    compiler, engine = import_module("re._compiler"), import_module("_sre")
    compile_pattern = compiler.compile
    vars(dataclasses)["exec"] = _execute_stored(cache)
    vars(compiler)["compile"] = _compile_stored(cache, compile_pattern, engine)
    try:
        yield cache
    finally:
        del vars(dataclasses)["exec"]  # the built-in function is seen again
        vars(compiler)["compile"] = compile_pattern
    cache.save()


def _execute_stored(cache: DefinitionCache) -> Callable[..., None]:
    """Return an `exec` that takes the code of a text from the cache."""

    def execute(text: str, *names: dict[str, Any]) -> None:
        key = _digest("dataclass", text)
        code = cache.get(key)
        if not isinstance(code, CodeType):
            code = compile(text, _FILE_NAME, "exec")
            cache.add(key, code)
        exec(code, *names)  # noqa: S102 - what `dataclasses` does with the same text

    return execute


def _compile_stored(
    cache: DefinitionCache, compile_pattern: Callable[..., Any], engine: Any
) -> Callable[..., Any]:
    """Return a `re._compiler.compile` that takes a translated pattern from the cache."""
    build = engine.compile

    def compile_stored(pattern: Any, flags: int = 0) -> Any:
        if not isinstance(pattern, str | bytes) or flags & _NOT_STORED:
            return compile_pattern(pattern, flags)
        key = _digest(type(pattern).__name__, repr((pattern, int(flags))))
        stored = cache.get(key)
        if stored is not None:
            return build(pattern, *stored)

        def build_and_store(same: Any, found: int, code: list[int], groups: int, *names: Any) -> Any:
            if not found & _NOT_STORED:  # a pattern may name its flags itself
                numbers = [int(number) for number in code]  # of named integers, which `marshal` refuses
                cache.add(key, (int(found), numbers, groups, dict(names[0]), tuple(names[1])))
            return build(same, found, code, groups, *names)

        vars(engine)["compile"] = build_and_store
        try:
            return compile_pattern(pattern, flags)
        finally:
            vars(engine)["compile"] = build

    return compile_stored


def _digest(kind: str, text: str) -> bytes:
    content = f"{kind}\0{text}".encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()


def definitions_file(name: str, folder: Path | None = None) -> Path:
    """Return the path of the file `name`, in the folder of compiled code unless another one is named."""
    compiled = Path(
        importlib.util.cache_from_source(__file__)
    )  # `module.cpython-311.pyc`: its middle names the interpreter
    return (folder or compiled.parent) / f"{name}{Path(compiled.stem).suffix}.definitions"


def _replace(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file that no other process sees half. Raises: OSError."""
    path.parent.mkdir(exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
