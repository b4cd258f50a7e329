"""Mixin for structs with secrets: their `repr` is the class name, so that no log line or traceback shows a field."""


class SecretRecord:
    """Hides all fields: `class SignInBody(SecretRecord, Struct)`."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the name of the class."""
        return f"{type(self).__name__}(***)"
