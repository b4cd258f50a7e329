"""Headwater as an installed package: the command, and in a wheel the folders `services`, `workers`, `broker` and `schemas` beside it.

Those names are plain, so they are not put where every program of the environment would import them: `command.py` adds this folder to
the path of Headwater's own processes alone, and `pip install headwater` beside any application changes nothing for it.
"""
