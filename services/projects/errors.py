"""Errors of the server of projects.

ProjectUnavailable      a request gets 503 with Retry-After
  WakeFailed            the platform did not start; the next attempt is at a known time
  WakeTimeout           it still starts after the longest time that a request waits
  ProjectHeld           a command stops or removes the project
ProjectOverloaded       429: a limit of the project is reached
"""


class ProjectUnavailable(Exception):
    """The project cannot answer now."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.message, self.retry_after_s = message, retry_after_s


class WakeFailed(ProjectUnavailable):
    """The platform of the project did not start. The reason is for the operator, so no client gets it."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(
            "The project could not be started. Its operator finds the reason by `headwater projects status`",
            retry_after_s,
        )


class WakeTimeout(ProjectUnavailable):
    """The project wakes, and has not finished in the time that a request waits."""

    def __init__(self) -> None:
        super().__init__("The project is waking up. Send the request again", 5.0)


class ProjectHeld(ProjectUnavailable):
    """The project is being stopped or removed by a command."""

    def __init__(self) -> None:
        super().__init__("The project is being stopped by its operator. Send the request again later", 5.0)


class ProjectOverloaded(Exception):
    """The project answers as many requests as its limit allows."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
