"""Decides when to visit a page again: change rates, intervals, and the budget of visits. Pure.

`change_rates` estimates how often a page changes, `visit_budget` prices visits, `intervals` combines both into the time
of the next visit.
"""
