"""The arithmetic: torch and numpy only, no Qt, no files, no network."""
