"""Step three: a plan becomes one statement per root field, whose only value is the finished JSON."""
