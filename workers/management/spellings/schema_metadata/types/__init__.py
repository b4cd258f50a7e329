"""Types of the database in Go, Swift and Python, as the interface writes them: one pure module a language."""
