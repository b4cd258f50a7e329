"""Members of a body or a query, read with the words that the official server's checker uses. Pure.

    read = Reader("body", values)
    name, public = read.text("name", needed=True), read.flag("public")
    read.check()                                # all faults at once

Numbers and flags may be spelled as texts. Source: reference page "storage", section 3.3 (InvalidRequest).
"""

from collections.abc import Mapping, Sequence

from schemas.numbers import parse_whole_number
from workers.storage.errors import invalid_request

_FARTHEST = 10**18 - 1
_FLAGS = {"true": True, "false": False, "1": True, "0": False}


class Reader:
    """Takes values one by one and remembers what is wrong with them. A null counts as not given."""

    def __init__(self, where: str, values: Mapping[str, object]) -> None:
        self._where, self._values = where, values
        self.faults: list[str] = []

    def check(self, *others: "Reader") -> None:
        """Raises: StorageError (InvalidRequest) with every fault."""
        faults = [fault for each in (self, *others) for fault in each.faults]
        if faults:
            raise invalid_request(", ".join(faults))

    def text(self, name: str, usual: str = "", *, needed: bool = False) -> str:
        """Give a text."""
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
        """Give one of some texts."""
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
        """Give a whole number within bounds."""
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
        """Give yes or no."""
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
        """Give a list of texts."""
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
        for index, each in enumerate(value):
            if not isinstance(each, str):
                self._fault(f"{name}/{index}", "must be string")
        return [each for each in value if isinstance(each, str)]

    def inner(self, name: str) -> "Reader | None":
        """Give the reader of an object inside; None if there is none. Check it together with this one."""
        value = self._value(name, False)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._fault(name, "must be object")
            return None
        return Reader(f"{self._where}/{name}", value)

    @property
    def has_any(self) -> bool:
        """Tell whether there is any member."""
        return bool(self._values)

    def has(self, name: str) -> bool:
        """Tell whether a member is there, a null included."""
        return name in self._values

    def raw(self, name: str) -> object:
        """Give a member as it came; None without it."""
        return self._values.get(name)

    def _value(self, name: str, needed: bool) -> object:
        value = self._values.get(name)
        if value is None and needed:
            self.faults.append(f"{self._where} must have required property '{name}'")
        return value

    def _fault(self, name: str, what: str) -> None:
        self.faults.append(f"{self._where}/{name} {what}")
