"""The `slw` command: words on a terminal."""
