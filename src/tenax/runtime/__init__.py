"""The process: cancellation, resources, and connections to Redis."""
