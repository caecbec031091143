"""Training (paper §5): losses, one visible loop, engines that take its steps, exact checkpoints."""
