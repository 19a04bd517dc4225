"""EASY in other programs: do batsched and pybatsim give the same answers, with users who react?"""
