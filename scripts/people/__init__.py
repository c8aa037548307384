"""People in the worlds: the web home, its view of each world, and studies."""
