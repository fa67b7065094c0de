"""Ways of looking at the log; delete one and it grows back."""
