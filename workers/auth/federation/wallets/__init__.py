"""Sign-in with a wallet: parses the signed message and verifies the signatures of each blockchain."""
