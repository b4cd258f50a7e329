"""Settings as administrators see and change them: entries with their sources, the file, the fragment to commit."""
