"""S3 multipart uploads: create, upload parts, complete, abort, list."""
