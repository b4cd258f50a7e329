"""S3 uploads at the gateway: `aws-chunked` bodies, checksums, browser forms and errors as XML."""
