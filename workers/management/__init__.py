"""The pool `management`: what administrators do, as a list of operations that programs, the dashboard and commands share.

worker.py      a request -> who asks (identity/) -> the operation (operations/) -> its answer and its audit row
operation.py   what an operation is: arguments, rights, limits, audit
database.py    the sessions in which SQL of operations runs, one login for each role
"""
