"""Expansion (paper §4): links added to the tree by conditional mutual information → the wiring of the network."""
