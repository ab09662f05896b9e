"""Reports: the numbers of an evaluation as pictures and tables, in HTML, Markdown and JSON."""
