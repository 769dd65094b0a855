"""Limits the CPU time of one document. Extraction checks it between its steps; Python code that does not check it is
interrupted. `worker` also limits the process, for native code."""

from __future__ import annotations

from typing import Protocol

from tenax.crawl.reader.messages import ExtractedPage, ExtractJob, max_cpu_seconds, unreadable_page
from tenax.extract.budget import CpuBudget, ExtractLimitExceeded
from tenax.runtime.resources import cpu_seconds, limit_cpu_time, passed_seconds
from tenax.urls.admit import Rules


class Extract(Protocol):
    """`Reader.extract`."""

    def __call__(self, job: ExtractJob, rules: Rules, budget: CpuBudget) -> ExtractedPage: ...


def extract_within_limit(
    extract: Extract, job: ExtractJob, rules: Rules, max_seconds: float | None = None
) -> ExtractedPage:
    """Extract a document; one that takes too much CPU time is a failure. `max_seconds` is `max_cpu_seconds`, if it is
    known."""
    seconds = max_cpu_seconds(job) if max_seconds is None else max_seconds
    budget = CpuBudget(cpu_seconds, seconds, "extract.max_cpu_seconds", clock=passed_seconds)
    try:
        with limit_cpu_time(seconds, budget.limit_error):
            return extract(job, rules, budget)
    except ExtractLimitExceeded as error:
        return unreadable_page(str(error))
