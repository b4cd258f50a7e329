"""Keys and tokens: signing, verification, claims, key files and their rotation."""
