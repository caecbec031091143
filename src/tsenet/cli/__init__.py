"""The command line: each command is a thin call into the library."""
