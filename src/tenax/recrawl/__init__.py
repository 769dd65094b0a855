"""Decides when to visit a page again: change rates, intervals, and the budget of visits. Pure.

`change_rates` estimates how often a page changes. `intervals` prices visits and computes the time of the next visit.
"""
