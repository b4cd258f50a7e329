"""Modules that stand in for those of Deno's standard library where only a registry of npm packages can be reached."""
