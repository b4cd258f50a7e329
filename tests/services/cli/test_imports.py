"""What every command imports: each pays for it."""

import subprocess
import sys


def test_no_command_imports_the_libraries_of_servers_before_it_needs_them():
    heavy = ("aiohttp", "asyncpg", "nats", "cryptography")
    text = (
        "import sys; from services.cli.main import COMMANDS, main\n"
        "for name in COMMANDS: main.get_command(None, name)\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_command_imports_no_other_command():
    text = (
        "import sys; from services.cli.main import main\n"
        "main.get_command(None, 'start')\n"
        "names = [f'services.cli.{name}' for name in ('start', 'branch', 'doctor', 'gen', 'restore')]\n"
        "print([name for name in (*names, 'structlog') if name in sys.modules])"  # a running platform keeps all of it
    )

    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "['services.cli.start']"
