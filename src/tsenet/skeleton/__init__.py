"""The tree skeleton (paper §3): counts → information → islands → Chow–Liu → tree → the stacking loop."""
