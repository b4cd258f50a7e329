"""The settings: one frozen tree, read from defaults, `config.toml` and the environment, with their checks."""
