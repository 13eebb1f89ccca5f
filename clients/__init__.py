"""Foreign libraries' own tests, and programs on them, run on our tensors: ``make test-clients SUITES=folder``.

Their test suites are checked out beside this project and stay unchanged; the libraries come from the index into an
environment of their own. Nothing here is part of a distribution.
"""
