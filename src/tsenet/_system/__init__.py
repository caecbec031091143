"""What the stages need of the machine: compiled kernels, threads, seeds, atomic writes, warm-up, imports that wait."""
