"""Errors of the supervisor: one sentence that says what is wrong and what to do, and an exit code.

SupervisorError
|- StartRefused   exit 2: nothing was started; the user has to change an option, a file or a folder
`- StartFailed    exit 1: a part of the platform did not start
"""


class SupervisorError(Exception):
    """The platform cannot start; the text is what the user reads."""

    exit_code = 1


class StartRefused(SupervisorError):
    """The requested start is impossible: a port in use, a broken config, a locked data folder."""

    exit_code = 2


class StartFailed(SupervisorError):
    """A part of the platform exited or reported an error while it started."""
