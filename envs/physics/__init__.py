"""The 2-D physics of the toolkit: entities with factors, rules over them, contacts, simulators of batches."""
