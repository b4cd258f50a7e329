"""Find what is wrong with a platform, without changing it."""
