"""What `gymnasium.make` finds under gumption/."""

import gymnasium as gym


def register_all() -> None:
    """Register every world. Ours check their input themselves, so Gymnasium's checker of each step is left off."""
    gym.register(
        id="gumption/WordCraft-v0",
        entry_point="gumption.envs.wordcraft.env:WordCraftEnv",
        vector_entry_point="gumption.envs.wordcraft.env:WordCraftVectorEnv",
        disable_env_checker=True,
    )
    gym.register(
        id="gumption/LittleAlchemy-v0",
        entry_point="gumption.envs.wordcraft.little_alchemy:LittleAlchemyEnv",
        vector_entry_point="gumption.envs.wordcraft.little_alchemy:LittleAlchemyVectorEnv",
        disable_env_checker=True,
    )
    gym.register(
        id="gumption/HALMA-v0",
        entry_point="gumption.envs.halma.env:HALMAEnv",
        vector_entry_point="gumption.envs.halma.env:HALMAVectorEnv",
        disable_env_checker=True,
    )
