"""The S3-compatible endpoint: credentials, operations, responses in XML."""
