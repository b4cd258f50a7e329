"""Read members of a body or a query, with the error messages of the official server's validator. Pure.

    read = BodyReader("body", values)
    name, public = read.text("name", needed=True), read.flag("public")
    read.check()                                # raises with all faults at once

Numbers and flags may be written as texts. Source: docs/reference/storage.md, section 3.3 (InvalidRequest).
"""

from collections.abc import Mapping, Sequence

from schemas.numbers import parse_whole_number
from workers.storage.model.errors import invalid_request

_FARTHEST = 10**18 - 1
_FLAGS = {"true": True, "false": False, "1": True, "0": False}


class BodyReader:
    """Reads values one by one and collects the faults. A null counts as absent."""

    def __init__(self, where: str, values: Mapping[str, object]) -> None:
        self._where, self._values = where, values
        self.faults: list[str] = []

    def check(self, *others: "BodyReader") -> None:
        """Raises: StorageError (InvalidRequest) with every fault."""
        faults = [fault for reader in (self, *others) for fault in reader.faults]
        if faults:
            raise invalid_request(", ".join(faults))

    def text(self, name: str, usual: str = "", *, needed: bool = False) -> str:
        """Return a text."""
        value = self._value(name, needed)
        if value is None:
            return usual
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self._fault(name, "must be string")
        return usual

    def choice(self, name: str, allowed: Sequence[str], usual: str = "", *, needed: bool = False) -> str:
        """Return one of some texts."""
        value = self._value(name, needed)
        if value is None:
            return usual
        if not isinstance(value, str) or value not in allowed:
            self._fault(name, "must be equal to one of the allowed values")
            return usual
        return value

    def integer(
        self, name: str, usual: int = 0, *, least: int, most: int | None = None, needed: bool = False
    ) -> int:
        """Return a whole number within bounds."""
        value = self._value(name, needed)
        if value is None:
            return usual
        if isinstance(value, str):
            number = parse_whole_number(value.removeprefix("+"), least=-_FARTHEST, most=_FARTHEST)
            value = value if number is None else number
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self._fault(name, "must be integer")
        elif value < least:
            self._fault(name, f"must be >= {least}")
        elif most is not None and value > most:
            self._fault(name, f"must be <= {most}")
        else:
            return value
        return usual

    def flag(self, name: str, usual: bool = False) -> bool:
        """Return a boolean."""
        value = self._value(name, False)
        if value is None:
            return usual
        if isinstance(value, bool):
            return value
        if isinstance(value, str | int) and str(value).lower() in _FLAGS:
            return _FLAGS[str(value).lower()]
        self._fault(name, "must be boolean")
        return usual

    def texts(self, name: str, *, least: int = 0, most: int | None = None, needed: bool = False) -> list[str]:
        """Return a list of texts."""
        value = self._value(name, needed)
        if value is None:
            return []
        if not isinstance(value, list):
            self._fault(name, "must be array")
            return []
        if len(value) < least:
            self._fault(name, f"must NOT have fewer than {least} items")
        if most is not None and len(value) > most:
            self._fault(name, f"must NOT have more than {most} items")
        for index, item in enumerate(value):
            if not isinstance(item, str):
                self._fault(f"{name}/{index}", "must be string")
        return [item for item in value if isinstance(item, str)]

    def inner(self, name: str) -> "BodyReader | None":
        """Return the reader of an inner object, or None; check it together with this one."""
        value = self._value(name, False)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._fault(name, "must be object")
            return None
        return BodyReader(f"{self._where}/{name}", value)

    @property
    def has_any(self) -> bool:
        """Whether there are any members."""
        return bool(self._values)

    def has(self, name: str) -> bool:
        """Return whether a member exists, even as null."""
        return name in self._values

    def raw(self, name: str) -> object:
        """Return a member unchecked, or None."""
        return self._values.get(name)

    def _value(self, name: str, needed: bool) -> object:
        value = self._values.get(name)
        if value is None and needed:
            self.faults.append(f"{self._where} must have required property '{name}'")
        return value

    def _fault(self, name: str, what: str) -> None:
        self.faults.append(f"{self._where}/{name} {what}")
