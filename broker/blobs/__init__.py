"""The blob store: the bytes of objects on a local disk or in an outside object store."""
