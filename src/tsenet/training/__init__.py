"""Training (paper §5): losses, one visible loop, the recipe."""
