"""The storage pool: buckets, objects, signed URLs, images; rows only, the bytes lie in the blob store."""
