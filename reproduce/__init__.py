"""The paper's tables and figures (§6) and further experiments: definitions that can be run, stopped and resumed."""
