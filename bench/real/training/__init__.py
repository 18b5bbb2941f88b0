"""Questions of ours over manuals, READMEs and private papers that readers and their judges learn from."""
