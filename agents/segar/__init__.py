"""Learners for SEGAR's tasks, and the measures of their studies. Needs the extra `sb3`."""
