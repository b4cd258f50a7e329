"""Files of deploy/install: the installer is a sound script, and templates for other services set what a platform needs to be reached."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from schemas.settings.environment import environment_names
from schemas.settings.reading import load_settings
from services.supervisor.exposure import check_exposure
from tests.deploy.test_compose import SERVICE_KEYS

ROOT = Path(__file__).parents[2]
INSTALL = ROOT / "deploy" / "install"
FORMULA = ROOT / "scripts" / "homebrew-formula"
_VARIABLE = re.compile(r"\$\{(\w+)(?::[?-](?:\$\{\w+\}|[^{}])*)?\}")


@pytest.mark.skipif(
    shutil.which("shellcheck") is None and os.environ.get("SHELLCHECK") != "required",
    reason="shellcheck is not installed",
)
def test_the_installer_is_short_and_sound() -> None:
    script = INSTALL / "install.sh"

    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")
    assert len(script.read_text().splitlines()) <= 40


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "name a wheel"),
        (["/nowhere.whl"], "there is no file"),
        (["https://host.test/x.whl"], "needs the SHA-256"),
    ],
)
def test_the_installer_says_what_it_lacks_and_installs_nothing(
    words: list[str], reason: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        ["sh", INSTALL / "install.sh", *words], env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode != 0
    assert reason in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("service", ["coolify", "dokploy"])
def test_a_template_makes_a_platform_that_may_be_reached_from_outside(service: str) -> None:
    file = INSTALL / service / "docker-compose.yml"
    (platform,) = yaml.safe_load(file.read_text())["services"].values()
    chosen: dict[str, Any] = {
        name: _VARIABLE.sub(lambda match: f"made{match[1]}" * 3, text)
        for name, text in platform["environment"].items()
        if name.startswith("HEADWATER_")
    }
    addresses = {name: "https://api.example.test" for name in chosen if name.endswith("_URL")}

    settings, warnings = load_settings(b"", {**chosen, **addresses, "HEADWATER_GATEWAY_HOST": "0.0.0.0"})

    assert chosen.keys() <= set(environment_names())
    assert warnings == []
    check_exposure(settings)
    assert platform.keys() <= SERVICE_KEYS
    assert (file.parent / platform["build"] / "Dockerfile").resolve() == ROOT / "Dockerfile"
    assert platform["volumes"] == ["headwater:/srv/headwater/data"]


def test_files_for_github_and_editors_name_the_installer_as_it_is() -> None:
    action = yaml.safe_load((INSTALL / "github-action/action.yml").read_text())
    container = json.loads((INSTALL / "devcontainer/devcontainer.json").read_text())

    assert 'sh "$HERE/install.sh" "$WHEEL"' in action["runs"]["steps"][0]["run"]
    assert container["postCreateCommand"].split()[:2] == ["sh", "deploy/install/install.sh"]


@pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")
def test_the_formula_for_homebrew_installs_the_wheel_that_it_names(tmp_path: Path) -> None:
    wheel = tmp_path / "headwater-0.2.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    address = f"https://releases.example.org/v0.2.0/{wheel.name}"
    text = subprocess.run([FORMULA, wheel, address], capture_output=True, text=True, check=True).stdout
    formula = tmp_path / "headwater.rb"
    formula.write_text(text)

    done = subprocess.run(
        ["ruby", "-w", Path(__file__).with_name("formula_reader.rb"), formula], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    read = json.loads(done.stdout)
    assert read["facts"]["url"] == [address, "nounzip"]
    assert read["facts"]["sha256"] == hashlib.sha256(b"a wheel").hexdigest()
    assert read["facts"]["service"]["run"] == ["/opt/headwater/bin/headwater", "start"]
    assert read["commands"][1][-1] == wheel.name
    assert read["commands"][2] == ["link", "/cellar/libexec/bin/headwater"]
    assert "0.2.0" in read["facts"]["version"]


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("other-0.2.0-py3-none-any.whl", "https://releases.example.org/other-0.2.0-py3-none-any.whl"),
        ("headwater-0.2.0-py3-none-any.whl", "http://releases.example.org/headwater-0.2.0-py3-none-any.whl"),
        ("headwater-0.2.0-py3-none-any.whl", "https://releases.example.org/headwater-0.1.0-py3-none-any.whl"),
        ("headwater-0.2.0-py3-none-any.whl", 'https://x/"#{1}/headwater-0.2.0-py3-none-any.whl'),
    ],
)
def test_a_formula_of_another_file_is_refused(name: str, address: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()

    done = subprocess.run([FORMULA, tmp_path / name, address], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (1, "")
