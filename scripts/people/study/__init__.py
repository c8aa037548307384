"""Studies with people: a study file determines the participants' path, the export and the report."""
