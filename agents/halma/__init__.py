"""HALMA's agents: their knowledge, how they act and how they are evaluated."""
