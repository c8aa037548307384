"""The web home: one server for people who play the worlds, take part in studies, or run them."""
