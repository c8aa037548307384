"""The web home: one server on which people play the worlds, take part in studies, or run studies."""
