"""Gradual: questions and answers byte by byte, from copying a letter to grammars (GoodAI's challenge of 2017)."""

from .descriptions import member

__all__ = ["member"]
