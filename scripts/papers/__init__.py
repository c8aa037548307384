"""The gallery: experiments as data, benches, the science of single papers, and saved results.

Only names in text refer to this folder: `envs/worlds.py` and the table of commands.
"""
