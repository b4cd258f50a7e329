"""The documentation as a site: `make docs` writes it to build/docs. Nothing is fetched, neither now nor by its readers."""

import sys
import tomllib
from pathlib import Path

from pygments.lexers.special import TextLexer
from pygments.lexers.sql import PostgresLexer
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))
from llms import write_texts  # beside this file, which Sphinx runs by its path

project = "Headwater"
author = "the authors of Headwater"
release = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["_build"]

myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Headwater {release}"
html_static_path = ["site"]
html_js_files = [("copy.js", {"defer": "defer"})]
html_css_files = ["copy.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {"top_of_page_buttons": []}
highlight_language = "none"


def setup(app: Sphinx) -> None:
    """Read SQL as Postgres does, and the requests of our pages, which stand without a version of HTTP, as plain text."""
    app.add_lexer("sql", PostgresLexer)
    app.add_lexer("http", TextLexer)
    app.connect("build-finished", _write_texts)


def _write_texts(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        write_texts(Path(app.srcdir), Path(app.outdir))
