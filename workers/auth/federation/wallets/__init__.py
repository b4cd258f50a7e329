"""Sign-in with a wallet: the signed message, and the signatures of each chain."""
