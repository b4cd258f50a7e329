"""The text of an SMS: `Your code is {{ .Code }}`, or the project's template. Pure."""

from schemas.settings.tree import SettingsError
from workers.auth.delivery.gotext.nodes import Node, TemplateError
from workers.auth.delivery.gotext.parse import parse
from workers.auth.delivery.gotext.render import ResultTooLong, render

DEFAULT = "Your code is {{ .Code }}"


class Wording:
    """A parsed template of text messages."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self._nodes = nodes

    def text(self, code: str) -> str:
        """Render the text with a code."""
        try:
            return render(self._nodes, {"Code": code}, is_html=False)
        except ResultTooLong:
            return DEFAULT.replace("{{ .Code }}", code)


def read_wording(template: str, key: str = "auth.sms.template") -> Wording:
    """Parse a template; an empty one is the default. Raises: SettingsError."""
    try:
        return Wording(parse(template or DEFAULT))
    except TemplateError as error:
        raise SettingsError(f"{key}: {error}") from None
