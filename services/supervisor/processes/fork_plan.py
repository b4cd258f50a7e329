"""Which children come from the fork server, and how it is started (pure).

On Linux our own programs are forked from one process that has loaded the code of all (`broker/processes/fork_server.py`): a
killed pool is replaced in a fraction of a second, and the processes share the memory of the code. On other systems, and after a
failed fork, the supervisor starts the same programs by their command lines.
"""

from collections.abc import Mapping
from dataclasses import replace

from services.supervisor.processes.plan import ChildPlan, ReadySignal

FORK_SERVER = "fork-server"
"""Its name among the children."""
_LOAD_S = 60.0
_VARIABLES = frozenset(
    {"HOME", "LANG", "LANGUAGE", "PATH", "TEMP", "TMP", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "GLIBC_TUNABLES"}
)
_PREFIXES = ("LC_", "PYTHON", "MALLOC_", "VIPS_", "VIRTUAL_ENV")
"""Environment of the fork server: what the interpreter and its libraries read while they load. It contains no setting."""


def with_fork_server(
    children: list[ChildPlan], python: tuple[str, ...], environment: Mapping[str, str]
) -> list[ChildPlan]:
    """Return the children with a fork server before them; our own programs wait for it and are forked from it."""
    forked = [child for child in children if is_forkable(child)]
    if not forked:
        return children
    server = ChildPlan(
        name=FORK_SERVER,
        argv=(
            *python,
            "-P",
            "-m",
            "broker.processes.fork_server",
            *(" ".join(preloaded(child)) for child in forked),
        ),
        environment=bare(environment),
        ready=ReadySignal.PIPE,
        stage=1,
        start_timeout=_LOAD_S,
        label="preloaded code",
    )
    return [
        server,
        *(
            replace(child, after=(*child.after, FORK_SERVER), is_early=False, is_forked=True)
            if is_forkable(child)
            else child
            for child in children
        ),
    ]


def is_forkable(child: ChildPlan) -> bool:
    """Return whether a child is a long-running program of ours: `migrate` runs once, with passwords that others do not get."""
    return child.ready is ReadySignal.PIPE and "-m" in child.argv and child.user is None


def preloaded(child: ChildPlan) -> tuple[str, ...]:
    """Return the module and the arguments that the fork server loads a program by, without paths of folders."""
    program = child.argv[child.argv.index("-m") + 1 :]
    return tuple(word for word in program if "/" not in word and " " not in word)


def bare(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an environment that holds no settings and no secrets."""
    return {
        name: value for name, value in environment.items() if name in _VARIABLES or name.startswith(_PREFIXES)
    }
