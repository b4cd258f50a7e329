"""What the fork server loads stays in the memory of a platform: libraries that few projects use are loaded at their first use."""

import subprocess
import sys

UNUSED = (
    "dns",  # checks of mail hosts: `auth.email.validation_extended`
    "obstore",  # object stores: `storage.backend`
    "rich",  # console output of other programs, installed for development
    "pycparser",  # declarations that a cffi library parses when it is imported
    "webauthn",  # passkeys and security keys
    "OpenSSL",  # what that library brings along
    "starlette",  # HTTP servers that libraries bring along
)
_CODE = """
import sys
from broker.processes import fork_server
programs = ["workers rest graphql auth storage scheduler management", "workers replication realtime", "workers images",
            "workers.functions.placeholder", "services gateway mail"]
for program in programs:
    name, *arguments = program.split()
    fork_server._preload(name, arguments)
fork_server._warm_up([program.split() for program in programs])
print(sorted({name.partition(".")[0] for name in sys.modules}))
from workers.auth.delivery import templates
from workers.management.operations import operation_table
print("built", operation_table.cache_info().currsize, templates._default.cache_info().currsize > 10)
"""


def test_libraries_that_few_projects_use_are_not_preloaded():
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    loaded = done.stdout

    assert "'aiohttp'" in loaded
    assert (
        "'prometheus_client'" in loaded
    )  # every process would load it by itself: statistics read all metrics
    assert [name for name in UNUSED if f"'{name}'" in loaded] == []
    assert "built 1 True" in loaded  # tables that each process would build for itself


def test_the_supervisor_loads_no_library_that_its_programs_alone_need():
    code = "import sys, services.cli.main, services.cli.start; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    unneeded = ("prometheus_client", "email", "http", "aiohttp", "asyncpg", "cryptography")

    assert "'msgspec'" in done.stdout
    assert [name for name in unneeded if f"'{name}'" in done.stdout] == []
