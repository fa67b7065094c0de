"""What can happen to a memory, and what is allowed to."""
