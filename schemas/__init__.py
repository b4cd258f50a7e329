"""The ground: shapes of everything that crosses a wall. Data only: no I/O, no await."""
