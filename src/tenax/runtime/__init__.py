"""The process: cancellation and resources."""
