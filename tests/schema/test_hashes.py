from __future__ import annotations

from forthwith.schema import state_sha256


def test_a_state_has_one_identity_whatever_the_order_of_its_members() -> None:
    assert state_sha256({"b": [1, "é"], "a": None}) == state_sha256({"a": None, "b": [1, "é"]})
    assert state_sha256([1, 2]) != state_sha256([2, 1])
    assert state_sha256("") == "12ae32cb1ec02d01eda3581b127c1fee3b0dc53572ed6baf239721a03d82e126"  # of two quotes
