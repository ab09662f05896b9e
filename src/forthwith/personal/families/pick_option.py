"""Which of these items will the user pick and rate well? The answer is what they did; the state holds what they like.

The target's ranks by price, popularity, distance to the medoid and to the centroid, and length of name are scheduled over
the whole data set: of many sampled option sets the one is taken whose ranks have been rarest so far.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forthwith.personal.families.anchors import anchors_of
from forthwith.personal.families.context import Cell, FamilyContext, memory_line, required
from forthwith.personal.families.option_sets import Ingredients, choose_set, sample_sets
from forthwith.personal.fragment import Fragment, QuestionSpec
from forthwith.personal.kb.profile import Fact
from forthwith.personal.lines import BudgetLimit, OpinionFlip, PreferenceLine
from forthwith.personal.pending import ItemOption, PickRequest
from forthwith.personal.steps import Step, yes_no
from forthwith.personal.world.people import latent_taste

__all__ = ["DESIGN", "MAX_RELEVANT", "build"]

DESIGN: tuple[Cell, ...] = tuple(
    Cell(variant, None, "pick", is_hard=variant != "removed", size=size)  # pyright: ignore[reportArgumentType]
    for variant in ("clean", "clean", "override", "removed")
    for size in (3, 4, 5)
)
"""Three to five options alike; half clean, a quarter each override (a budget or opinion changed) and removed (no facts)."""

MAX_RELEVANT = 10
MIN_RELEVANT = 2
MIN_POOL = 8
CHOICE_NOISE = 0.5
"""Standard deviation of what chance adds to an option's worth when a synthetic user picks."""


class _Options(NamedTuple):
    rows: list[int]
    candidate: int
    ranks: tuple[tuple[int, int], ...]


def build(ctx: FamilyContext) -> Fragment | None:
    """A fragment about the target, or None when no option set or too little memory can be had."""
    catalogue = ctx.kb.catalogue
    row = catalogue.index.get(ctx.target.item_id)
    if row is None or ctx.slot.position is None:
        return None
    relevant = [fact for fact in ctx.open_facts() if fact.category == ctx.target.category][-MAX_RELEVANT:]
    if len(relevant) < MIN_RELEVANT:
        return None
    options = _options(ctx, row)
    if options is None:
        return None
    rest = [catalogue.option(other) for other in options.rows[1:]]
    ctx.rng.shuffle(rest)
    shown = (*rest[: ctx.slot.position], catalogue.option(row), *rest[ctx.slot.position :])
    updates = _updates(ctx, shown, row) if ctx.slot.variant == "override" else ()
    if updates is None:
        return None
    return replace(_fragment(ctx, shown, relevant, updates), candidate=options.candidate, ranks=options.ranks)


def _options(ctx: FamilyContext, row: int) -> _Options | None:
    catalogue = ctx.kb.catalogue
    pool = _pool(ctx, row)
    fixed = _low_rated(ctx, row)
    wanted = ctx.slot.size - 1 - len(fixed)
    if len(pool) < max(3 * wanted, MIN_POOL):
        return None
    rng = np.random.Generator(np.random.PCG64(ctx.rng.getrandbits(64)))
    sets = sample_sets(rng, catalogue, Ingredients(row, fixed, pool, wanted))
    if ctx.kb.world_seed is not None:
        sets = sets.where(_is_picked(ctx, rng, sets.rows, ctx.kb.world_seed))
    if len(sets.rows) == 0:
        return None
    chosen = ctx.slot.candidate if ctx.tally is None else choose_set(sets, ctx.tally, is_hard=ctx.slot.is_hard)
    if chosen is None or chosen >= len(sets.rows):
        return None
    return _Options([int(found) for found in sets.rows[chosen]], chosen, sets.ranks(chosen))


def _is_picked(ctx: FamilyContext, rng: np.random.Generator, rows: NDArray[np.int64], seed: int) -> NDArray[np.bool_]:
    """In the synthetic world, the sets from which this user, by latent taste and chance, picks the target."""
    catalogue, category = ctx.kb.catalogue, ctx.target.category
    tastes: dict[str, float] = {}
    worth: dict[int, float] = {}
    for row in np.unique(rows):
        for trait in catalogue.traits[int(row)]:
            if trait not in tastes:
                tastes[trait] = latent_taste(seed, ctx.user.user_id, category, (trait,))
        worth[int(row)] = sum(tastes[trait] for trait in catalogue.traits[int(row)])
    utility = np.vectorize(worth.__getitem__, otypes=[np.float64])(rows)  # (M, K)
    utility = utility + rng.normal(0, CHOICE_NOISE, rows.shape)
    return utility.argmax(axis=1) == 0


def _pool(ctx: FamilyContext, row: int) -> NDArray[np.int64]:
    """Items of the target's kind and place that the user never touched, with the same knowledge of prices."""
    catalogue = ctx.kb.catalogue
    rows = catalogue.group_of(row)
    own = {catalogue.index.get(fact.item_id, -1) for fact in ctx.user.facts}
    own |= {catalogue.index.get(choice.item_id, -1) for choice in ctx.user.later}
    same_cents = (catalogue.price_cents[rows] >= 0) == (catalogue.price_cents[row] >= 0)
    same_level = (catalogue.price_level[rows] > 0) == (catalogue.price_level[row] > 0)
    return rows[same_cents & same_level & ~np.isin(rows, list(own))]


def _low_rated(ctx: FamilyContext, row: int) -> list[int]:
    """In half of the questions, where there is one, a later item of the same kind that the user rated 1 or 2."""
    catalogue = ctx.kb.catalogue
    if ctx.rng.random() < 0.5:
        return []
    group = set(catalogue.group_of(row).tolist())
    low = [catalogue.index.get(choice.item_id, -1) for choice in ctx.user.later if choice.rating <= 2]
    found = [other for other in low if other in group and other != row]
    found = [other for other in found if (catalogue.price_cents[other] >= 0) == (catalogue.price_cents[row] >= 0)]
    return [ctx.rng.choice(found)] if found else []


def _updates(ctx: FamilyContext, shown: tuple[ItemOption, ...], row: int) -> tuple[PreferenceLine, ...] | None:
    """A real change of opinion known by now, else a budget that was too small and has been raised."""
    flip = _flip(ctx)
    return (flip,) if flip is not None else _budgets(ctx, shown, ctx.kb.catalogue.option(row))


def _flip(ctx: FamilyContext) -> OpinionFlip | None:
    """Early ratings of the category good and later ones bad, or the reverse, by what is known before now."""
    category = ctx.target.category
    early = [fact.rating for fact in ctx.user.facts if fact.category == category]
    later = [found for found in ctx.user.later if found.category == category and found.when < ctx.target.when]
    if not early or not later:
        return None
    before = sum(early) / len(early)
    after = sum(found.rating for found in later) / len(later)
    if not (before >= 4 and after <= 2) and not (before <= 2 and after >= 4):
        return None
    return OpinionFlip(f"flip:{category}", category, min(ctx.today, later[0].when.date()), now_likes=after >= 4)


def _budgets(
    ctx: FamilyContext, shown: tuple[ItemOption, ...], target: ItemOption
) -> tuple[PreferenceLine, ...] | None:
    category = ctx.target.category
    old_day = ctx.rng.choice(ctx.user.facts).date
    keys = (f"budget:{category}:0", f"budget:{category}:1")
    if target.price_cents is not None:
        prices = [option.price_cents or 0 for option in shown]
        highest, own = max(prices), target.price_cents
        excludes_target = ctx.rng.random() < 0.5 or own == highest
        old = max(1, own // 100 - 1) if excludes_target else max(1, min(highest // 100 - 1, -(-own // 100)))
        new = 5 * math.ceil(1.25 * highest / 500)
        return (
            BudgetLimit(keys[0], category, old, None, old_day),
            BudgetLimit(keys[1], category, new, None, ctx.today),
        )
    if target.price_level is None:
        return None
    return (
        BudgetLimit(keys[0], category, None, ctx.rng.choice((1, 2)), old_day),
        BudgetLimit(keys[1], category, None, 4, ctx.today),
    )


def _fragment(
    ctx: FamilyContext, shown: tuple[ItemOption, ...], relevant: list[Fact], updates: tuple[PreferenceLine, ...]
) -> Fragment:
    first = shown[0]
    category = ctx.target.category
    domain = ctx.user.domain
    pending = ctx.pending("Request", PickRequest(domain, category, first.city, shown))
    is_removed = ctx.slot.variant == "removed"
    memory = () if is_removed else tuple(memory_line(fact) for fact in relevant)
    withheld = [fact for fact in ctx.user.facts if fact.category == category] if is_removed else []
    hidden = [
        anchor for anchor in anchors_of(memory_line(fact) for fact in withheld) if anchor.role.endswith("evidence")
    ]
    return Fragment(
        family="pick_option",
        qid="pick_option",
        variant=ctx.slot.variant,
        scenario="pick",
        question=QuestionSpec("pick_option", "choice", pending.label, options=shown),
        label=ctx.target.item_id,
        soft=tuple((option.option_id, 1 / len(shown)) for option in shown) if is_removed else None,
        required=required((pending, *memory, *updates)),
        forbidden=tuple(hidden),
        rule_path=(f"the user picked {ctx.target.item_id} on {ctx.today} and rated it {ctx.target.rating}",),
        pending=pending,
        steps=() if is_removed else _steps(ctx, shown, relevant),
        needed_facts=frozenset() if is_removed else frozenset(fact.fact_id for fact in relevant),
        withheld_facts=frozenset(fact.fact_id for fact in withheld),
        memory=memory,
        preference_updates=updates,
    )


def _steps(ctx: FamilyContext, shown: tuple[ItemOption, ...], relevant: list[Fact]) -> tuple[Step, ...]:
    """Traits of the options on which the notes are not balanced: for or against."""
    votes: Counter[str] = Counter()
    for fact in relevant:
        if fact.category == ctx.target.category and fact.polarity != "mixed":
            votes.update(dict.fromkeys(fact.traits, 1 if fact.polarity == "likes" else -1))
    offered = dict.fromkeys(trait for option in shown for trait in option.traits)
    told = [trait for trait in offered if votes[trait]][:4]
    return tuple(
        yes_no(f"taste{number}", f"In {ctx.target.category}, do the notes speak for {trait}?", votes[trait] > 0)
        for number, trait in enumerate(told, start=1)
    )
