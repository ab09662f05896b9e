"""Must the user approve an action first? Purchases against the limit in force, new recipients, what cannot be undone.

Amounts are drawn so that an amount alone says nothing: each band between two limits lies above the limit of one half of
the users who meet it and below that of the other half. Amounts exactly at a limit occur on both sides, too.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import NamedTuple

from forthwith.personal.families.anchors import anchors_of, dollars
from forthwith.personal.families.context import Cell, FamilyContext, other_person, required
from forthwith.personal.fragment import Fragment, QuestionSpec
from forthwith.personal.kb.habits import LIMITS
from forthwith.personal.kb.profile import Switch
from forthwith.personal.lines import ApprovalRule, Contact, NoteLine, PastCases, ReversibilityNote, RuleLine, SpendLimit
from forthwith.personal.pending import DeleteAction, MessageAction, PurchaseAction
from forthwith.personal.rules import (
    Dated,
    deletion_needs_approval,
    in_force,
    message_needs_approval,
    purchase_needs_approval,
)
from forthwith.personal.steps import Step, one_of, yes_no
from forthwith.personal.world.names import restaurant_name

__all__ = ["DESIGN", "build"]


def _pair(variant: str, scenario: str) -> tuple[Cell, Cell]:
    return Cell(variant, "true", scenario), Cell(variant, "false", scenario)  # pyright: ignore[reportArgumentType]


DESIGN: tuple[Cell, ...] = (
    *_pair("clean", "purchase"),
    *_pair("clean", "purchase"),
    *_pair("clean", "boundary"),
    *_pair("clean", "message"),
    *_pair("clean", "message"),
    *_pair("clean", "irreversible"),
    *_pair("override", "purchase"),
    *_pair("override", "message"),
    *_pair("override", "irreversible"),
    *(Cell("removed", None, scenario, is_hard=False) for scenario in ("purchase", "purchase", "purchase")),
    *(Cell("removed", None, scenario, is_hard=False) for scenario in ("message", "message", "irreversible")),
)
"""Half clean, a quarter each override (the rule in force contradicts an older one) and removed (no rule is stated)."""

_TOPICS = (
    "the weekend",
    "a recipe",
    "the keys",
    "the invoice",
    "a lost parcel",
    "the garden",
    "a lift home",
    "the party",
)
_NOTES = (
    "packing list",
    "gift ideas",
    "garden plan",
    "reading list",
    "sketches",
    "old receipts",
    "house rules",
    "recipes",
)
_EVENTS = ("Choir practice", "Dentist", "Piano lesson", "Book club", "Car service", "Yoga class", "Board games")


class _Case(NamedTuple):
    """An action, the rules that decide it (in order), what else is needed, the label, and the steps to it."""

    body: PurchaseAction | MessageAction | DeleteAction
    rules: tuple[RuleLine, ...]
    label: bool
    path: tuple[str, ...]
    contacts: tuple[Contact, ...] = ()
    notes: tuple[NoteLine, ...] = ()
    steps: tuple[Step, ...] = ()
    rule_steps: tuple[Step, ...] = ()


def build(ctx: FamilyContext) -> Fragment | None:
    """A fragment whose label is the one scheduled, or None when this user cannot give it."""
    match ctx.slot.scenario:
        case "message":
            case = _message(ctx)
        case "irreversible":
            case = _deletion(ctx)
        case _:
            case = _purchase(ctx)
    if case is None or (ctx.slot.label is not None and str(case.label).lower() != ctx.slot.label):
        return None
    return _fragment(ctx, case)


def _fragment(ctx: FamilyContext, case: _Case) -> Fragment:
    pending = ctx.pending("Proposed action", case.body)
    is_removed = ctx.slot.variant == "removed"
    noise = _foreign_rule(ctx, case) if not is_removed and ctx.rng.random() < 0.4 else ()
    past = _past_cases(ctx) if is_removed and ctx.rng.random() < 0.5 else ()
    rules = () if is_removed else (*case.rules, *noise)
    soft = _soft(past) if is_removed else None
    shown = (pending, *rules, *case.contacts, *case.notes, *past)
    hidden = anchors_of(line for line in case.rules if isinstance(line, SpendLimit))
    said = {anchor.text for anchor in required(shown)}
    return Fragment(
        family="needs_approval",
        qid="needs_approval",
        variant=ctx.slot.variant,
        scenario=ctx.slot.scenario,
        question=QuestionSpec("needs_approval", "noul", pending.label),
        label=str(case.label).lower(),
        soft=soft,
        required=required(shown),
        forbidden=tuple(a for a in hidden if is_removed and a.kind == "money" and a.text not in said),
        rule_path=case.path,
        pending=pending,
        steps=case.steps if is_removed else (*case.rule_steps, *case.steps),
        rules=rules,
        contacts=case.contacts,
        notes=(*case.notes, *past),
        distractors=frozenset(line.line_id for line in noise),
    )


# ---- purchases ----------------------------------------------------------------------------------------------------


def _purchase(ctx: FamilyContext) -> _Case | None:
    habits = ctx.user.habits
    lines = [SpendLimit("spend_limit:0", habits.limit)]
    if habits.limit_update is not None and habits.limit_update[1] <= ctx.today:
        lines.append(SpendLimit("spend_limit:1", *habits.limit_update))
    limit = lines[-1].amount
    if ctx.slot.variant == "override":
        if len(lines) < 2:
            return None
        low, high = sorted((lines[0].amount, limit))
        if (limit == low) != (ctx.slot.label == "true"):
            return None
        amount = _cents_between(ctx, low, high)
    elif ctx.slot.scenario == "boundary":
        amount = _boundary(ctx, limit)
    else:
        amount = _band_amount(ctx, limit)
    body = None if amount is None else _basket(ctx, amount)
    if body is None:
        return None
    future = _announced(ctx, lines) if len(lines) == 1 and ctx.rng.random() < 0.3 else ()
    in_order = (*lines, *future)
    found = in_force([Dated(line.amount, line.since) for line in in_order], ctx.today)
    label = purchase_needs_approval(body.amount_cents, found)
    path = (
        f"limit in force on {ctx.today}: ${found}",
        f"total {dollars(body.amount_cents)}",
        f"above the limit: {label}",
    )
    above = yes_no("above", f"Is the total of Proposed action {ctx.letter} more than ${found}?", label)
    steps = (_total_step(ctx, body), above)
    return _Case(body, in_order, label, path, steps=steps, rule_steps=_limit_steps(ctx, in_order, found, is_over=label))


def _total_step(ctx: FamilyContext, body: PurchaseAction) -> Step:
    """What the purchase comes to, among its parts and an amount close by (no draw: the record stays as it is)."""
    total = body.amount_cents
    near = total + (500 if total // 100 % 2 or total <= 500 else -500)
    amounts = sorted({total, near, body.unit_price_cents, body.delivery_fee_cents})
    ask = f"What does Proposed action {ctx.letter} come to in all?"
    return one_of("total", ask, [dollars(cents) for cents in amounts], dollars(total))


def _limit_steps(
    ctx: FamilyContext, lines: Sequence[SpendLimit], found: int | None, *, is_over: bool
) -> tuple[Step, ...]:
    """Which limit is in force, among those that are stated and their neighbours; whether the total is over it."""
    if found not in LIMITS:
        return ()
    place = LIMITS.index(found)
    near = {LIMITS[index] for index in (place - 1, place + 1) if 0 <= index < len(LIMITS)}
    amounts = sorted({line.amount for line in lines} | near | {found})
    over = f"Is the total of Proposed action {ctx.letter} more than may be spent today without asking?"
    return (
        one_of("limit", "Which amount may be spent today without asking?", [f"${it}" for it in amounts], f"${found}"),
        yes_no("over", over, is_over),
    )


def _announced(ctx: FamilyContext, lines: list[SpendLimit]) -> tuple[SpendLimit, ...]:
    """A change that is announced for a later day and does not hold yet."""
    amount = ctx.rng.choice([limit for limit in LIMITS if limit != lines[0].amount])
    return (SpendLimit("spend_limit:later", amount, ctx.today + dt.timedelta(days=ctx.rng.randint(2, 60))),)


def _is_above(ctx: FamilyContext) -> bool:
    """Whether the amount is to lie above the limit: as scheduled, else by chance."""
    return ctx.slot.label == "true" if ctx.slot.label is not None else ctx.rng.random() < 0.5


def _band_amount(ctx: FamilyContext, limit: int) -> int | None:
    """Cents in a band between two neighbouring limits, just above or just below the user's."""
    place = LIMITS.index(limit)
    if _is_above(ctx):
        step = 1 if ctx.rng.random() < 0.3 and 0 < place < len(LIMITS) - 2 else 0
        low = place + step
    else:
        step = 1 if ctx.rng.random() < 0.3 and 1 < place < len(LIMITS) - 1 else 0
        low = place - 1 - step
    if not 0 <= low < len(LIMITS) - 1:
        return None
    return _cents_between(ctx, LIMITS[low], LIMITS[low + 1])


def _boundary(ctx: FamilyContext, limit: int) -> int | None:
    """Exactly a limit in cents: the user's own (may proceed) or the next higher one (needs approval)."""
    place = LIMITS.index(limit) + _is_above(ctx)
    return 100 * LIMITS[place] if 0 < place < len(LIMITS) else None


def _cents_between(ctx: FamilyContext, low: int, high: int) -> int:
    """Cents in (low, high)."""
    return ctx.rng.randrange(100 * low + 1, 100 * high)


def _basket(ctx: FamilyContext, amount: int) -> PurchaseAction | None:
    """A product, a quantity and a delivery fee that come to exactly the amount."""
    catalogue = ctx.kb.catalogue
    names = catalogue.categories.get("product", ())
    for _ in range(30):
        rows = catalogue.groups["product", ctx.rng.choice(names), None]
        row = int(rows[ctx.rng.randrange(len(rows))])
        price = int(catalogue.price_cents[row])
        if not 100 <= price <= amount:
            continue
        quantity = min(8, amount // price)
        fee = amount - quantity * price
        if fee <= min(2_500, max(900, amount // 4)):
            return PurchaseAction(catalogue.names[row], quantity, price, fee, amount)
    return None


# ---- messages and deletions ---------------------------------------------------------------------------------------


def _switch_lines(ctx: FamilyContext, about: str, switch: Switch) -> list[ApprovalRule] | None:
    """The rule as first stated and as turned over; None when the variant needs a turn that there is not."""
    lines = [ApprovalRule(f"approval:{about}:0", about, switch.on)]  # pyright: ignore[reportArgumentType]
    if switch.turned is not None and switch.turned <= ctx.today:
        lines.append(ApprovalRule(f"approval:{about}:1", about, not switch.on, switch.turned))  # pyright: ignore[reportArgumentType]
    return None if ctx.slot.variant == "override" and len(lines) < 2 else lines


def _rule_on(ctx: FamilyContext, lines: list[ApprovalRule]) -> bool:
    return bool(in_force([Dated(line.on, line.since) for line in lines], ctx.today))


def _message(ctx: FamilyContext) -> _Case | None:
    lines = _switch_lines(ctx, "new_recipient", ctx.user.habits.new_recipient)
    if lines is None:
        return None
    rule_on = _rule_on(ctx, lines)
    if ctx.slot.variant == "override":
        is_known = False  # only to strangers do old and new rule disagree
    elif ctx.slot.label == "true":
        is_known = False
    else:
        is_known = ctx.rng.random() < (0.5 if ctx.slot.label is None else 0.67)
    person = ctx.rng.choice(ctx.user.habits.people) if is_known else ctx.stranger()
    body = MessageAction(person.name, person.email, ctx.rng.choice(_TOPICS))
    label = message_needs_approval(is_known=is_known, rule_on=rule_on)
    path = (f"new-recipient rule on: {rule_on}", f"{person.name} is a contact: {is_known}", f"needs approval: {label}")
    known = yes_no("known", f"Is {person.name} one of the user's contacts?", is_known)
    rule = yes_no("rule", "Does the user want to be asked before anything is sent to somebody new?", rule_on)
    return _Case(body, tuple(lines), label, path, contacts=ctx.contacts(), steps=(known,), rule_steps=(rule,))


def _deletion(ctx: FamilyContext) -> _Case | None:
    lines = _switch_lines(ctx, "irreversible", ctx.user.habits.irreversible)
    if lines is None:
        return None
    rule_on = _rule_on(ctx, lines)
    must_bind = ctx.slot.variant == "override" or ctx.slot.label == "true"
    is_reversible = not must_bind and ctx.rng.random() < 0.67
    kind = ctx.rng.choice(("booking", "notes", "event"))
    name = {
        "booking": restaurant_name(ctx.rng),
        "notes": ctx.rng.choice(_NOTES),
        "event": ctx.rng.choice(_EVENTS),
    }[kind]
    note = ReversibilityNote(f"undo:{name}", kind, name, is_reversible)  # pyright: ignore[reportArgumentType]
    label = deletion_needs_approval(is_reversible=is_reversible, rule_on=rule_on)
    path = (f"irreversible rule on: {rule_on}", f"{name} can be undone: {is_reversible}", f"needs approval: {label}")
    body = DeleteAction(kind, name)  # pyright: ignore[reportArgumentType]
    undo = yes_no("undo", f"Can {name} be brought back once it is deleted?", is_reversible)
    rule = yes_no("rule", "Does the user want to be asked before anything is done that cannot be undone?", rule_on)
    notes = (note, *_other_notes(ctx, name))
    return _Case(body, tuple(lines), label, path, notes=notes, steps=(undo,), rule_steps=(rule,))


def _other_notes(ctx: FamilyContext, name: str) -> tuple[ReversibilityNote, ...]:
    """A note about something else, so that there is more than one to read."""
    other = ctx.rng.choice([text for text in (*_NOTES, *_EVENTS) if text != name])
    kind = "notes" if other in _NOTES else "event"
    return (ReversibilityNote(f"undo:{other}", kind, other, ctx.rng.random() < 0.5),)


# ---- what is around -----------------------------------------------------------------------------------------------


def _foreign_rule(ctx: FamilyContext, case: _Case) -> tuple[RuleLine, ...]:
    """A rule of the same kind that somebody else lives by."""
    owner = other_person(ctx)
    first = case.rules[0]
    if isinstance(first, ApprovalRule):
        return (ApprovalRule(f"approval:{owner}", first.about, ctx.rng.random() < 0.5, owner=owner),)
    return (SpendLimit(f"spend_limit:{owner}", ctx.rng.choice(LIMITS), owner=owner),)


def _past_cases(ctx: FamilyContext) -> tuple[PastCases, ...]:
    total = ctx.rng.choice((5, 8, 10, 20))
    positive = ctx.rng.choice([count for count in range(1, total) if 2 * count != total])
    return (PastCases("past:approval", "approval", positive, total),)


def _soft(past: tuple[PastCases, ...]) -> tuple[tuple[str, float], ...]:
    """The share of past cases where there are some, else even odds."""
    share = past[0].positive / past[0].total if past else 0.5
    return (("false", 1 - share), ("true", share))
