"""How good answers, rankings and decisions are: pure functions, one formula each."""
