"""S. Schlagkamp, JSSPP 2015: think times that grow with response times."""
