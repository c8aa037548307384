"""The 2-D physics of the toolkit: entities with factors, rules over them, contacts, a simulator of batches of scenes."""
