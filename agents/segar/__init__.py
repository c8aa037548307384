"""Learners of SEGAR's tasks, and what their studies measure. Needs the extra `sb3`."""
