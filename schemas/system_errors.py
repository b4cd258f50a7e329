"""Texts of the system's errors, for messages and log lines."""


def system_error_text(error: OSError) -> str:
    """Return what the system reported, with the file if the error names one: a failed write, for example, names none."""
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{reason}: {error.filename}"
