"""Which functions exist now: the project's folder, the deployed functions on top of it, and the watch that keeps both current."""
