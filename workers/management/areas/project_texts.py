"""What operations on texts of the project folder share (snippets, reports): the folder, and errors that say what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workers.management.interface.errors import ManagementError, invalid_arguments, not_found
from workers.management.interface.operation import OperationContext
from workers.project.snippet_files import is_snippet_name


def folder_of_texts(context: OperationContext, name: str) -> Path:
    """Return the project folder for a text of this name. Raises: ManagementError (400 for the name, 409 without a folder)."""
    if not is_snippet_name(name):
        raise invalid_arguments(
            "`name` must begin with a letter or digit and have 1 to 100 letters, digits, spaces or _ . , ( ) + -"
        )
    folder = context.settings.project_folder
    if folder is None or not folder.is_dir():
        raise ManagementError(
            409,
            "no_folder",
            "This process sees no project folder",
            hint="Start the platform with its project folder to keep snippets and reports.",
        )
    return folder


@contextmanager
def folder_errors(kind: str, name: str) -> Iterator[None]:
    """Turn what the file system refuses into errors that say what to do. `kind`: "snippet" or "report"."""
    try:
        yield
    except FileExistsError:
        raise ManagementError(
            409,
            f"{kind}_exists",
            f"There is a {kind} {name!r}",
            hint="Choose another name, or replace it (`replaces`).",
        ) from None
    except FileNotFoundError:
        raise not_found(f"{kind} {name!r}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ManagementError(
            409,
            "folder_refused",
            f"The folder of {kind}s cannot be used: {reason}",
            hint=f"Look at the owner and the rights of the folder `{kind}s`.",
        ) from None
