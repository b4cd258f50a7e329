"""Types of everything that passes between processes, migrations, and pure rules over them. No I/O, no await."""
