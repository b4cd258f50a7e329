"""The S3 protocol: requests, signatures, headers, XML, errors."""
