"""Small faults in the product, and whether the tests see them: what protects is decided by this, not by a count of tests.

`python -m tests.mutation --count 100 --seed 1` makes faults one after the other in a copy of the checkout and runs the tests
that `scripts/affected` names for the changed module. `python_faults.py` and `sql_faults.py` list the faults of a text (pure),
`__main__.py` chooses and tries them.
"""
