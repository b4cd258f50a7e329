"""The template language of existing projects: Go's text/template, as far as letters use it."""
