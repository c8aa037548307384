"""Agents for Gradual, and how they are validated."""
