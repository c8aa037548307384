"""HALMA's agents: what they know, how they act and how they are judged."""
