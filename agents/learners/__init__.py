"""Learners, one for each file. They use batches of environments and policies, and depend on no world."""
