"""What TSE-Net is compared with (paper §6)."""
