"""The edge of shapes: it holds the requests that wait for changes (docs/sync.md)."""
