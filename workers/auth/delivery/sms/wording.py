"""The text of an SMS: `Your code is {{ .Code }}`, or the project's own words. Pure."""

from schemas.settings.tree import SettingsError
from workers.auth.delivery.gotext.nodes import Node, TemplateRefused
from workers.auth.delivery.gotext.parse import parse
from workers.auth.delivery.gotext.render import LetterTooLong, render

DEFAULT = "Your code is {{ .Code }}"


class Wording:
    """A template of text messages, read and ready."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self._nodes = nodes

    def text(self, code: str) -> str:
        """Write the text that carries a code."""
        try:
            return render(self._nodes, {"Code": code}, is_html=False)
        except LetterTooLong:
            return DEFAULT.replace("{{ .Code }}", code)


def read_wording(template: str, key: str = "auth.sms.template") -> Wording:
    """Read a template; an empty one is the default. Raises: SettingsError."""
    try:
        return Wording(parse(template or DEFAULT))
    except TemplateRefused as error:
        raise SettingsError(f"{key}: {error}") from None
