"""TypeScript that runs inside a function's process, before the function's own module."""
