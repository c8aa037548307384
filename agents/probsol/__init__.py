"""Players of ProbSol Worlds, and the measures of their play."""
