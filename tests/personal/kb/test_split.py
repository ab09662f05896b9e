import pytest

from forthwith.errors import ConfigError, DataError
from forthwith.personal.kb.leakage import audit_leakage
from forthwith.personal.kb.split import email_split, partition_users, read_splits, split_users

USERS = [f"{index:016x}" for index in range(1000)]


def test_each_user_is_in_exactly_one_split():
    splits = split_users(USERS, {"test": 100, "dev": 50})
    assert sorted(user for users in splits.values() for user in users) == USERS
    assert {name: len(users) for name, users in splits.items()} == {
        "test": 100, "hidden": 0, "dev": 50, "val": 0, "train": 850,
    }  # fmt: skip


def test_the_order_of_the_users_does_not_matter():
    assert split_users(USERS, {"test": 10}) == split_users(USERS[::-1], {"test": 10})


def test_a_small_train_split_is_warned_about():
    with pytest.warns(UserWarning, match="only 100 train users"):
        split_users(USERS, {"test": 900})


def test_more_users_than_there_are_is_refused():
    with pytest.raises(DataError, match="1000 evaluation users are wanted of 1000"):
        split_users(USERS, {"test": 1000})
    with pytest.raises(ConfigError, match="train"):
        split_users(USERS, {"train": 5})


def test_mails_fall_into_pools_and_a_reserve():
    pools = [email_split(f"mail-{index}") for index in range(2000)]
    shares = {name: pools.count(name) / len(pools) for name in set(pools)}
    assert shares["train"] == pytest.approx(0.4, abs=0.05)
    assert shares[None] == pytest.approx(0.1, abs=0.03)


def test_the_synthetic_splits_share_nothing(world_folder, kb_folder):
    pairs = audit_leakage(world_folder, read_splits(kb_folder))
    assert len(pairs) == 10
    assert [pair.total for pair in pairs] == [0] * 10


def test_the_audit_finds_a_user_in_two_splits(world_folder, kb_folder):
    splits = read_splits(kb_folder)
    shared = {"dev": splits["dev"], "val": [*splits["val"], splits["dev"][0]]}
    (pair,) = audit_leakage(world_folder, shared)
    assert pair.users == 1
    assert pair.user_items > 5
    assert pair.texts > 5


def test_parts_are_equal_and_mix_domains_alike():
    domains = {user: "product" if index % 4 else "restaurant" for index, user in enumerate(USERS)}
    parts = partition_users(domains, ("a", "b"))
    assert sorted(parts["a"] + parts["b"]) == USERS
    assert [len(users) for users in parts.values()] == [500, 500]
    assert [sum(domains[user] == "restaurant" for user in users) for users in parts.values()] == [125, 125]
    with pytest.raises(ConfigError, match="each once"):
        partition_users(domains, ("a", "a"))
