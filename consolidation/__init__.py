"""The science: pure functions without clock, disk or randomness."""
