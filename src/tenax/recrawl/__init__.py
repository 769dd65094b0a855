"""When a page is visited again: change rates, intervals and the budget of visits. Pure."""
