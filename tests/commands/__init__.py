"""Commands of the platform for the tests, run by processes that have loaded its code already."""
