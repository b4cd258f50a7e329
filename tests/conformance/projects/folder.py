"""A project's folder: found, copied, and what it says of itself."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schemas.settings.tree import Settings
from services.supervisor.project.settings import load_project

_LEFT_OUT = shutil.ignore_patterns(
    "node_modules", ".git", ".headwater", ".next", ".nuxt", ".svelte-kit", ".turbo", ".venv", "__pycache__"
)
_MARKS = ("config.toml", "migrations", "seed.sql", "functions", "schemas")
_PASSED_OVER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
_EXAMPLE = ".env.example"
"""What a newcomer copies to `.env`, which is not kept with the project."""
_KINDS = (".ts", ".js", ".mjs", ".jsx", ".tsx")


class NoProject(Exception):
    """A folder is no project; the message says why."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a project: what it is called, the folder with `supabase` in it, its settings."""

    name: str
    root: Path
    settings: Settings

    @property
    def supabase(self) -> Path:
        """The folder of config.toml, migrations and functions."""
        return self.root / "supabase"

    def migrations(self) -> list[str]:
        """Give the versions of the migrations, in order."""
        found = sorted(self.supabase.glob("migrations/*.sql"))
        return [path.name.partition("_")[0] for path in found if path.name[:1].isdigit() and "_" in path.name]

    def functions(self) -> list[str]:
        """Give the names of the functions that are to be served."""
        top = self.supabase / (self.settings.edge_runtime.path or "functions")
        folders = [each for each in top.iterdir() if each.name[0] not in "._"] if top.is_dir() else []
        names = {
            each.name for each in folders if any((each / f"index{kind}").is_file() for kind in _KINDS)
        } | {name for name, each in self.settings.functions.items() if each.entrypoint}
        off = {name for name, each in self.settings.functions.items() if not each.enabled}
        return sorted(names - off) if self.settings.edge_runtime.enabled else []

    def files_of_buckets(self) -> dict[str, int]:
        """Give the buckets of the settings with the number of files that belong into each."""
        return {
            name: len(_files(self.supabase / bucket.objects_path)) if bucket.objects_path else 0
            for name, bucket in self.settings.storage.buckets.items()
        }


def find(folder: Path) -> tuple[str, Path]:
    """Give name and root of a project, named by its folder or by the supabase folder in it. Raises: NoProject."""
    path = Path(os.path.abspath(folder))
    if (path / "supabase").is_dir():
        return path.name, path
    if any((path / mark).exists() for mark in _MARKS):
        return (path.parent.name if path.name == "supabase" else path.name), path
    raise NoProject(f"{folder} has no folder `supabase`, and is none")


@contextlib.contextmanager
def copied(folder: Path, into: Path) -> Iterator[Copy]:
    """Copy a project and give the copy, as the product reads it. Raises: NoProject, StartRefused."""
    name, source = find(folder)
    root = into / name
    target = root if (source / "supabase").is_dir() else root / "supabase"
    shutil.copytree(source, target, ignore=_LEFT_OUT, symlinks=True)
    for example in [*root.glob(_EXAMPLE), *root.glob(f"supabase/**/{_EXAMPLE}")]:
        if not (env := example.with_name(".env")).exists():
            shutil.copy(example, env)
    yield Copy(name, root, load_project(root, None, into / "data", {}).settings)


def _files(top: Path) -> list[Path]:
    return [
        path
        for path in top.rglob("*")
        if path.is_file() and not path.is_symlink() and path.name not in _PASSED_OVER
    ]
