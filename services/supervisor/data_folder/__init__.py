"""The data folder of a platform: its layout, its lock and the state file."""
