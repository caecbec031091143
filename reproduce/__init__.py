"""The paper's tables and figures (§6), and those beyond it, as definitions that can be run, stopped and resumed."""
