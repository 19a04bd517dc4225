"""Several sites under one scheduler: local processing, job sharing, jobs spread over sites."""
