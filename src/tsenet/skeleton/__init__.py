"""The tree skeleton (paper §3): pairs → islands → layers → completion → Chow–Liu → refinement → LatentTree."""
