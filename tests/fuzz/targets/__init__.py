"""Everything of ours that reads what others wrote, by name."""

from fuzz.contract import Target
from fuzz.targets import accounting, choices, protocol, simulated, stored_runs

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (protocol, simulated, choices, stored_runs, accounting)
    for target in module.TARGETS
}
