"""The slowest steps of extraction, also implemented in C.

Python is the reference: each step has its rules, its reasons and its tests in a Python module, which the first comment
of a C file names. The native code does the same work on the same tree, about ten times as fast, and a test compares
both to the last character. It is built where a C compiler is available (`build`). Pages are read in Python where there
is none, or where the library was built for another parser than the installed one.

Promises: a page can make the native code give up, and then it is read in Python. A page cannot make it write out of
bounds, block, or grow without limit. The words, patterns and tables come from Python (`packed_tables`) when the library
is loaded.
"""
