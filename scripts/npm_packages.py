"""The npm packages that stand in the built dashboard: names, versions and licences, from the lock file and the installed packages."""

import json
from dataclasses import dataclass
from pathlib import Path

WEB = Path(__file__).resolve().parent.parent / "services" / "dashboard" / "web"
_NOT_BUILT_IN = ("axe-core", "@types/react", "@types/react-dom")
"""For tests and for the editor of a developer."""
_TEXTS = ("license", "license.md", "license.txt", "licence", "licence.md", "license-mit", "copying")
STATED = {"combine-errors": "MIT", "custom-error-instance": "MIT", "lodash._stack": "MIT"}
"""Licences that stand in the readme of a package only."""
SPELLED = {"Apache-2.0 OR MIT": "MIT OR Apache-2.0"}


@dataclass(frozen=True)
class NpmPackage:
    """A package; `folder` holds its files."""

    name: str
    version: str
    licence: str
    folder: Path

    def licence_text(self) -> str:
        """Return the text of its licence, empty if it brings none."""
        for path in sorted(self.folder.iterdir()):
            if path.name.lower() in _TEXTS:
                return path.read_text(encoding="utf-8", errors="replace").strip()
        return ""


def npm_packages() -> list[NpmPackage]:
    """Return the packages by name. Raises: FileNotFoundError if they are not installed."""
    wanted = json.loads((WEB / "deno.json").read_text())["imports"]
    locked = json.loads((WEB / "deno.lock").read_text())
    direct = [text.removeprefix("npm:") for name, text in wanted.items() if name not in _NOT_BUILT_IN]
    waiting = [
        next(key for key in locked["npm"] if key == text or key.startswith(f"{text}_")) for text in direct
    ]
    by_name: dict[str, list[str]] = {}
    for key in locked["npm"]:
        by_name.setdefault(_name_of(key), []).append(key)
    seen: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        needed = locked["npm"][key].get("dependencies", [])
        waiting += [text if text in locked["npm"] else by_name[_name_of(text)][0] for text in needed]
    packages = {
        (_name_of(key), _version_of(key)): key for key in seen if not _name_of(key).startswith("@types/")
    }
    return [_package(name, version) for name, version in sorted(packages)]


def _package(name: str, version: str) -> NpmPackage:
    folders = sorted((WEB / "node_modules" / ".deno").glob(f"{name.replace('/', '+')}@{version}*"))
    if not folders:
        raise FileNotFoundError(f"{name} {version} is not installed; scripts/dashboard installs it")
    folder = folders[0] / "node_modules" / name
    licence = json.loads((folder / "package.json").read_text()).get("license") or STATED.get(name, "")
    if not licence:
        raise ValueError(f"{name} does not name its licence")
    return NpmPackage(name, version, SPELLED.get(licence, licence), folder)


def _name_of(key: str) -> str:
    """`@a/b@1.2.3_react@19` -> `@a/b`."""
    return key[0] + key[1:].partition("@")[0]


def _version_of(key: str) -> str:
    return key[1:].partition("@")[2].partition("_")[0]
