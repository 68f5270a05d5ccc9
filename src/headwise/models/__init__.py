"""Models that were trained: what they learn, how, and their weights."""
