"""Compares the plans of dynP with the optimum of a scheduling step, by integer programming.

Source: Streit 2003 (PhD thesis, Paderborn), section 4.6.
:mod:`batsched_py.optimum.scheduling_step` is what
a step and a plan are, :mod:`batsched_py.optimum.solver` finds the best plan of one step, and
:mod:`batsched_py.optimum.step_study` compares the plans of dynP with it along a simulation.
"""
