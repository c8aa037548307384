"""Commands of Gradual."""
