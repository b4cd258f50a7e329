"""A run of the tests over several processes, which are forks of the one that collected them.

Each process of pytest-xdist collects all tests itself: 21 to 53 s of CPU for each, while two cores do nothing else. Here one
process collects and forks:

    controller.py   the process that collects, hands out groups of tests and prints
    fork_child.py   a fork: runs the tests of a group, sends its reports
    groups.py       which tests stay together, and which groups start first (pure)
    uncollected.py  which modules are not even imported, because all their tests are left out
"""
