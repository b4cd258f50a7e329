"""What every command imports: each pays for it."""

import subprocess
import sys


def test_no_command_imports_the_libraries_of_servers_before_it_needs_them():
    heavy = ("aiohttp", "asyncpg", "nats", "cryptography")
    text = f"import sys, services.cli.main; print([name for name in {heavy} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
