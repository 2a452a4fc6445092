"""Where queries, keys and values come from: typed text and files. Knows nothing of windows."""
