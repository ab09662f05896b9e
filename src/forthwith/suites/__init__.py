"""Public tasks to records: converters that keep a source's own labels and say what they left out. Knows no model."""
