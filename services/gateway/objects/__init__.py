"""Uploads and downloads of objects: their bytes pass between the client and the blob store."""
