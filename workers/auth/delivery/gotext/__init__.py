"""The template language of existing projects: Go's text/template, as far as emails use it."""
