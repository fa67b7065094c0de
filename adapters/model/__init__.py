"""The tokenizer and configuration of the bundled embedding model, as package data."""
