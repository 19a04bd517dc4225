"""The output formats of a report: on a terminal, as files, as an HTML page, in a notebook."""
