"""Rules that look for faults of the project's database and settings, each with an explanation and, where possible, a fix."""
