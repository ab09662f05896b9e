"""The command line: argument parsing over library functions, one thin file a command."""
