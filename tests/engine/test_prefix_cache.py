from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forthwith.engine.prefix_cache import PrefixCache


def test_the_least_recently_used_entry_goes_first() -> None:
    cache = PrefixCache(10)
    cache.put((1,), "one", 4)
    cache.put((2,), "two", 4)
    assert cache.get((1,)) == "one"
    cache.put((3,), "three", 4)
    assert cache.get((2,)) is None
    assert (cache.get((1,)), cache.get((3,))) == ("one", "three")
    assert (len(cache), cache.bytes, cache.hits, cache.misses) == (2, 8, 3, 1)


def test_an_entry_over_the_bound_is_not_kept_and_clear_forgets() -> None:
    cache = PrefixCache(10)
    cache.put((1,), "one", 11)
    assert len(cache) == 0
    cache.put((1,), "one", 10)
    cache.clear()
    assert (len(cache), cache.bytes) == (0, 0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=60))
def test_memory_never_passes_the_bound(puts: list[tuple[int, int]]) -> None:
    cache = PrefixCache(10)
    sizes: dict[tuple[int, ...], int] = {}
    for key, size in puts:
        cache.put((key,), key, size)
        sizes[key,] = size
        assert cache.bytes <= 10
        assert cache.bytes == sum(sizes[entry] for entry in [(k,) for k in range(6)] if cache.get(entry) is not None)
