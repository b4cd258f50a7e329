"""What an operation is and how one runs: who asks, his rights, the limits of arguments, errors, audit."""
