"""Renditions of images: the client of the images pool and the sweep of the cache."""
