"""One-time codes and links: made, sent, entered, guessed, limited."""
