"""Learners, each in one file: they see batches of environments and policies, and no world."""
