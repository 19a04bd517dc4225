"""The studies that come with the project, a package each: campaign files, published numbers,
report.
"""
