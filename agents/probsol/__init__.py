"""Players of ProbSol Worlds, and what is measured of them."""
