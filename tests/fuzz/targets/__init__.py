"""Everything of ours that reads what others wrote, by name."""

from fuzz.contract import Target
from fuzz.targets import files, messages, stored_runs

TARGETS: dict[str, Target] = {
    target.name: target for module in (messages, files, stored_runs) for target in module.TARGETS
}
