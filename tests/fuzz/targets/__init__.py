"""Everything of ours that reads what others wrote, by name."""

from fuzz.contract import Target
from fuzz.targets import (
    accounting,
    campaigns,
    conversations,
    logs,
    machines,
    messages,
    platforms,
    stored_runs,
    user_parameters,
    workloads,
)

_MODULES = (
    *(messages, conversations, logs, workloads, platforms, campaigns, user_parameters),
    stored_runs,
    accounting,
    machines,
)
TARGETS: dict[str, Target] = {
    target.name: target for module in _MODULES for target in module.TARGETS
}
