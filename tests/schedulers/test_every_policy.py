"""The campaign of every policy and user model can begin."""

from __future__ import annotations

from pathlib import Path

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.plugins.plugins import RIGID, SCHEDULERS, USERS, check_options, list_names, load
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from every_policy import campaign


def test_the_campaign_of_all_has_each_policy_and_user_model(tmp_path: Path) -> None:
    """``make every-policy`` is for people who have the logs; that it can begin is tested here."""
    file = tmp_path / "every_policy.toml"
    file.write_text("\n".join(campaign([SAMPLE_LOG])))
    planned = [each.settings for each in read_campaign(file).runs]
    assert {each.scheduler for each in planned} == set(list_names(SCHEDULERS))
    assert {each.users for each in planned} == {RIGID, *list_names(USERS)}
    for each in planned:
        check_options(load(SCHEDULERS, each.scheduler), each.scheduler, each.scheduler_options)
        if each.users != RIGID:
            check_options(load(USERS, each.users), each.users, each.user_options)
