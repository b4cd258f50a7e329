"""Tests of the first step: from text to a request."""
