"""Errors of branches, each with reason and remedy in its text."""


class BranchRejected(Exception):
    """A branch cannot be made, or merged, as things are; the text is shown to the user."""
