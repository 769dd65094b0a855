"""The process we run in: cancellation, CPU time, memory, open files."""
