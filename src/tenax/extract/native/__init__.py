"""The steps of reading that cost most, once more in C.

Python is the definition: every step has its rules, its reasons and its tests in the room of the same name. The kernel
does the same work on the same tree, some ten times as fast, and a test holds that both answer alike to the last
character. It is built where there is a C compiler (`build`), and left out where there is none, or where it was built
for another parser than the one at hand: then the pages are read in Python.

Promises: a page can make the kernel give up, and then it is read in Python; it cannot make it write out of bounds, wait
or grow without limit. The words, patterns and tables it works with are Python's (`class_hints`, `language_data`,
`decision_trees`), and handed over when it is loaded.
"""
