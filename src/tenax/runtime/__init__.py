"""The process: cancellation, CPU time, memory, open files."""
