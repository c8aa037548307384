"""Studies with people: a study is a file, and the participants' path, the export and the report follow from it."""
