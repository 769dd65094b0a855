"""The slowest steps of extraction, also implemented in C.

Python is the reference: each step has its rules, its reasons and its tests in a Python module, which the first comment
of a C file names. The native code does the same work on the same tree, about ten times as fast, and a test compares
both to the last character. It is built if a C compiler is available (`build`). If there is none, or if the library was
built for another version of the parser than the installed one, pages are read in Python.

Promises: if the native code gives up on a page, the page is read in Python. A page cannot make it write out of bounds,
block, or grow without limit. The words, patterns and tables come from Python (`packed_tables`) when the library is
loaded.
"""
