"""Random drafts with all seven families, built by hand from the snapshot's types; labels by the rules."""

from __future__ import annotations

import datetime as dt
import random

from forthwith.personal import rules
from forthwith.personal.families.anchors import anchors_of
from forthwith.personal.fragment import DraftRecord, Fragment, PlannedRecord, QuestionSpec
from forthwith.personal.lines import (
    ApprovalRule,
    BudgetLimit,
    CalendarEvent,
    Clearance,
    ConnectedServices,
    Contact,
    EntityNote,
    FactMarking,
    ForgetRequest,
    HomeAirport,
    HomeCity,
    MeetingCap,
    MemoryFact,
    OpinionFlip,
    PastCases,
    PriorityCode,
    PrivacyOrder,
    QuietHours,
    Repermission,
    ReversibilityNote,
    RoutingRule,
    ServiceChange,
    SpendLimit,
    TypeCap,
    UrgencyScale,
    VipList,
)
from forthwith.personal.pending import (
    DeleteAction,
    EntityRequest,
    ForgottenAction,
    IncomingEvent,
    ItemOption,
    MessageAction,
    Pending,
    PickRequest,
    PurchaseAction,
    ShareAction,
    TasteRequest,
)
from forthwith.personal.snapshot import Snapshot
from forthwith.personal.vocabulary import (
    EVENT_TYPES,
    NOTIFY_LEVELS,
    PRIVACY_LEVELS,
    RECIPIENT_TYPES,
    SERVICES,
    URGENCIES,
)

FIRST = ("Dana", "Milo", "Ines", "Theo", "Ruth", "Omar", "Lena", "Paul")
LAST = ("Cole", "Ortega", "Brandt", "Ashby", "Kimura", "Novak")
MAKERS = ("Harbor Oak", "Juniper Ridge", "Prairie Bell", "Linen Weave", "Copper Finch", "Northlight", "Marlow & Sons")
THINGS = (
    "Salmon Kibble 12 lb",
    "Lamb Dinner",
    "Storage Basket",
    "Oat Cookies",
    "Desk Lamp 40W",
    "Night Cream",
    "Grill House",
)
HARD_MAKERS = (
    "O'Brien & Co.",
    "Pro-Line | Max",
    '7" Classic, Inc.',
    "A\u00b7B; C=D",
    "Dr. Good's (2 Pack)",
    "\u201cBest\u201d Ever!",
    "Caf\u00e9 \u2192 Zo\u00eb",
)
HARD_THINGS = (
    '12" Pan - 5.5 Qt, Black',
    "Soap: $3 off? Yes. Really",
    "Kibble, 30 lb. Bag",
    "Lotion 100% Pure [New]",
    "Size 9, 1,200 pcs",
    "iPhone 12/13 case",
    "Tea {loose} <leaf>",
)
"""Names as shops write them, with every mark that a notation or a sentence could trip over."""
CATEGORIES = ("Pet Supplies", "Grocery", "Beauty", "Appliances", "Thai restaurant", "Pizza place")
WORDS = [
    "cleared",
    "up",
    "within",
    "two",
    "weeks",
    "and",
    "nobody",
    "complained",
    "though",
    "half",
    "the",
    "bowl",
    "was",
    "left",
    "untouched",
    "every",
    "single",
    "time",
    "again",
]
NOW = dt.datetime(2021, 6, 18, 14, 10)


class DraftBuilder:
    """One random draft; `style_id` and `split` decide its look."""

    def __init__(
        self, index: int, style_id: str, split: str = "dev", *, documents: bool = False, hard_names: bool = False
    ) -> None:
        self.rng = random.Random(f"draft-{index}")
        self.index, self.style_id, self.split, self.with_documents = index, style_id, split, documents
        self.count = 0
        self.names = self.rng.sample([f"{first} {last}" for first in FIRST for last in LAST], 7)
        makers, things = (HARD_MAKERS, HARD_THINGS) if hard_names else (MAKERS, THINGS)
        self.items = self.rng.sample([f"{maker} {thing}" for maker in makers for thing in things], 12)
        self.days = sorted(self.rng.sample([dt.date(2019, 1, 3) + dt.timedelta(days=n) for n in range(800)], 40))
        sections = "profile memory rules preference_updates forget_requests contacts calendar notes"
        self.lines: dict[str, list] = {name: [] for name in sections.split()}
        self.fragments: list[Fragment] = []
        self.pending: list[Pending] = []

    def line_id(self) -> str:
        self.count += 1
        return f"l{self.count}"

    def day(self) -> dt.date:
        return self.days.pop(self.rng.randrange(len(self.days)))

    def money(self, low: int, high: int) -> int:
        return self.rng.choice((self.rng.randrange(low, high) * 100, self.rng.randrange(low * 100, high * 100)))

    def build(self) -> DraftRecord:
        rng = self.rng
        self.lines["profile"] = [HomeCity(self.line_id(), "Dover"), HomeAirport(self.line_id(), "ILG", "Wilmington")]
        for name in self.names[:5]:
            relation = rng.choice(RECIPIENT_TYPES[:4])
            email = f"{name.split()[0].lower()}{rng.randrange(10, 99)}@example.com"
            self.lines["contacts"].append(Contact(self.line_id(), name, relation, email))
        for item in self.items[:6]:
            self.memory(item)
        self.preferences()
        families = [
            self.needs_approval,
            self.share_ok,
            self.route,
            self.notify_level,
            self.forgotten,
            self.apply_memory,
            self.pick,
        ]
        for make in rng.sample(families, 3):
            make()
        self.distractors()
        snapshot = Snapshot(
            now=NOW,
            time_zone="America/New_York",
            **{name: tuple(lines) for name, lines in self.lines.items()},
            pending=tuple(self.pending),
        )
        planned = PlannedRecord(
            record_id=f"pd/{self.split}/7/{self.index}",
            split=self.split,
            seed=7,
            index=self.index,
            user_id="3f9c0a7be1d24c55",
            visit=0,
            style_id=self.style_id,
            families=(),
            buried_tokens=0,
            wording_split=self.split,
        )
        documents = ()
        if self.with_documents:
            text = "Fifty crates were due on 3 May 2001; please call 555.\n\nThe price was $12.50, not $99."
            documents = (("mail", dt.date(2001, 5, 4), text), ("review", dt.date(2015, 2, 1), "I paid $7 here. " * 20))
        return DraftRecord(planned, snapshot, tuple(self.fragments), documents)

    def memory(self, item: str, owner: str | None = None) -> MemoryFact:
        rng = self.rng
        category = rng.choice(CATEGORIES)
        polarity, rating = rng.choice((("likes", 5), ("dislikes", 1), ("mixed", 3)))
        fact = MemoryFact(
            self.line_id(), f"f{self.count}", self.day(), f"i{self.count}", item, "product", category, polarity, rating,
            " ".join(rng.choices(WORDS, k=rng.randrange(3, 9))), "Dover" if category.islower() else None, owner,
        )  # fmt: skip
        self.lines["memory"].append(fact)
        return fact

    def preferences(self) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            self.lines["preference_updates"].append(
                OpinionFlip(self.line_id(), rng.choice(CATEGORIES), self.day(), rng.random() < 0.5)
            )
        if rng.random() < 0.5:
            budget = (rng.randrange(10, 90), None) if rng.random() < 0.5 else (None, rng.randrange(1, 5))
            self.lines["preference_updates"].append(
                BudgetLimit(self.line_id(), rng.choice(CATEGORIES), *budget, self.day())
            )

    def distractors(self) -> None:
        rng, owner = self.rng, self.names[0]
        if rng.random() < 0.6:
            self.lines["rules"].append(SpendLimit(self.line_id(), rng.randrange(20, 400), None, owner))
        if rng.random() < 0.4:
            self.lines["rules"].append(QuietHours(self.line_id(), 20, 9, None, owner))
        if rng.random() < 0.4:
            self.lines["rules"].append(VipList(self.line_id(), (self.names[4],), owner))
        if rng.random() < 0.4:
            self.memory(self.items[8], owner)

    def ask(
        self, family: str, kind: str, heading: str, body: object, label: str, lines: list, **question: object
    ) -> None:
        letter = "ABC"[len(self.pending)]
        item = Pending(self.line_id(), heading, letter, body)
        self.pending.append(item)
        spec = QuestionSpec(family, kind, item.label, **question)
        self.fragments.append(
            Fragment(family, family, "clean", "test", spec, label, None, anchors_of([item, *lines]), (), (), item)
        )  # fmt: skip

    def needs_approval(self) -> None:
        rng = self.rng
        kind = rng.choice(("purchase", "message", "delete"))
        if kind == "purchase":
            limits = [SpendLimit(self.line_id(), rng.choice((25, 40, 50, 75, 100)))]
            if rng.random() < 0.6:
                limits.append(SpendLimit(self.line_id(), rng.choice((30, 60, 150, 200)), self.day()))
            self.lines["rules"] += limits
            limit = rules.in_force([rules.Dated(r.amount, r.since) for r in limits], NOW.date())
            quantity, price, fee = rng.randrange(1, 5), self.money(5, 60), rng.choice((0, 0, 499))
            total = quantity * price + fee
            body = PurchaseAction(self.items[10], quantity, price, fee, total)
            shown = limits
            label = rules.purchase_needs_approval(total, limit)
        elif kind == "message":
            rule = ApprovalRule(
                self.line_id(), "new_recipient", rng.random() < 0.7, self.day() if rng.random() < 0.3 else None
            )
            self.lines["rules"].append(rule)
            known = rng.random() < 0.5
            contact = self.lines["contacts"][1]
            name, email = (contact.name, contact.email) if known else (self.names[6], "new77@example.com")
            body = MessageAction(name, email, "the weekend plan")
            shown = [rule, *self.lines["contacts"]]
            label = rules.message_needs_approval(is_known=known, rule_on=rule.on)
        else:
            rule = ApprovalRule(self.line_id(), "irreversible", rng.random() < 0.7)
            self.lines["rules"].append(rule)
            object_kind = rng.choice(("booking", "notes", "event"))
            note = ReversibilityNote(self.line_id(), object_kind, self.items[9], rng.random() < 0.5)
            self.lines["notes"].append(note)
            body = DeleteAction(object_kind, self.items[9])
            shown = [rule, note]
            label = rules.deletion_needs_approval(is_reversible=note.reversible, rule_on=rule.on)
        self.ask("needs_approval", "noul", "Proposed action", body, str(label).lower(), shown)

    def share_ok(self) -> None:
        rng = self.rng
        fact = self.lines["memory"][0]
        self.lines["rules"].append(PrivacyOrder(self.line_id(), PRIVACY_LEVELS))
        contact = rng.choice([*self.lines["contacts"], None])
        kind = "public" if contact is None else contact.relationship
        clearance = Clearance(self.line_id(), kind, rng.choice(PRIVACY_LEVELS[:4]))
        marks = [FactMarking(self.line_id(), fact.fact_id, fact.item_name, rng.choice(PRIVACY_LEVELS))]
        if rng.random() < 0.4:
            marks.append(
                FactMarking(self.line_id(), fact.fact_id, fact.item_name, rng.choice(PRIVACY_LEVELS), self.day())
            )
        self.lines["rules"] += [clearance, *marks]
        level = rules.in_force([rules.Dated(m.level, m.since) for m in marks], NOW.date())
        label = rules.may_share(level, clearance.level)
        body = ShareAction(fact.fact_id, fact.item_name, contact.name if contact else None, kind)
        self.ask("share_ok", "noul", "Proposed action", body, str(label).lower(), [clearance, *marks])

    def route(self) -> None:
        rng = self.rng
        services = tuple(s for s in SERVICES if rng.random() < 0.7) or ("email",)
        base = ConnectedServices(self.line_id(), services)
        self.lines["rules"].append(base)
        changes = []
        if rng.random() < 0.5:
            changes.append(ServiceChange(self.line_id(), rng.choice(SERVICES), rng.random() < 0.5, self.day()))
        detours = []
        kind = rng.choice(("city", "restaurant", "product", "person", "event"))
        if rng.random() < 0.3:
            detours.append(RoutingRule(self.line_id(), kind, rng.choice(SERVICES)))
        self.lines["rules"] += [*changes, *detours]
        country, airports = ("France", ("MRL",)) if kind == "city" else (None, ())
        notes = [EntityNote(self.line_id(), "Marlow", kind, "Marlow Springs", country, airports)]
        if rng.random() < 0.3:
            notes.append(EntityNote(self.line_id(), "Marlow", "person", "Marlow Dean"))
        self.lines["notes"] += notes
        connected = rules.connected_services(services, [(c.date, c.service, c.connected) for c in changes], NOW.date())
        label = rules.route(
            [rules.EntityMeaning(n.entity_kind, n.refers_to, n.country) for n in notes],
            [(d.entity_kind, rules.Dated(d.service, d.since)) for d in detours], connected, NOW.date(),
        )  # fmt: skip
        options = [*SERVICES, "ask_user"]
        rng.shuffle(options)
        body = EntityRequest("Marlow", dt.date(2021, 6, 24) if rng.random() < 0.5 else None)
        self.ask(
            "route", "choice", "Request", body, label, [base, *changes, *detours, *notes], route_options=tuple(options)
        )

    def notify_level(self) -> None:
        rng = self.rng
        event = rng.choice(EVENT_TYPES)
        quiet = [QuietHours(self.line_id(), *rng.choice(((22, 7), (23, 7), (21, 6), (0, 6))))]
        if rng.random() < 0.4:
            quiet.append(QuietHours(self.line_id(), *rng.choice(((20, 7), (21, 9), (13, 17))), self.day()))
        cap, meeting = (
            TypeCap(self.line_id(), event, rng.choice(NOTIFY_LEVELS[1:])),
            MeetingCap(self.line_id(), rng.choice(NOTIFY_LEVELS[1:3])),
        )
        vips = VipList(self.line_id(), tuple(c.name for c in self.lines["contacts"][:2] if rng.random() < 0.6))
        arrival = dt.datetime(2021, 6, 18, rng.randrange(15, 24), rng.choice((5, 20, 35, 50)))
        sender = rng.choice(self.lines["contacts"]).name if event == "message" else None
        running = rng.random() < 0.4
        start = arrival - dt.timedelta(minutes=15) if running else arrival + dt.timedelta(hours=2)
        entry = CalendarEvent(self.line_id(), "Yoga class", start, start + dt.timedelta(minutes=45))
        self.lines["calendar"].append(entry)
        code = magnitude = unit = None
        if rng.random() < 0.5:
            code, urgency = rng.choice(("P1", "P3", "amber")), rng.choice(URGENCIES)
            scale = PriorityCode(self.line_id(), event, code, urgency)
            number = URGENCIES.index(urgency)
        else:
            low, medium, high = sorted(rng.sample(range(3, 60), 3))
            unit, magnitude = "minutes", rng.choice((low, medium, high, rng.randrange(1, 80)))
            scale = UrgencyScale(self.line_id(), event, unit, low, medium, high)
            number = rules.urgency_of_magnitude(magnitude, low, medium, high)
        self.lines["rules"] += [*quiet, cap, meeting, vips, scale]
        window = rules.in_force([rules.Dated((q.start, q.end), q.since) for q in quiet], NOW.date())
        label = rules.notify_level(
            urgency=number, type_cap=NOTIFY_LEVELS.index(cap.level), is_vip=sender in vips.names,
            in_quiet=rules.in_quiet_hours(arrival.hour, *window), in_meeting=running,
            meeting_cap=NOTIFY_LEVELS.index(meeting.level),
        )  # fmt: skip
        body = IncomingEvent(event, arrival, sender, code, magnitude, unit)
        self.ask(
            "notify_level", "score", "Incoming event", body, str(label), [*quiet, cap, meeting, vips, scale, entry]
        )

    def forgotten(self) -> None:
        rng = self.rng
        facts = [fact for fact in self.lines["memory"] if fact.owner is None]
        target, other = rng.sample(facts, 2)
        terms: list = []
        attribute = rng.random() < 0.3
        scope = (
            {"attribute": "spicy food", "category": target.category}
            if attribute
            else {"item_name": target.item_name, "note_date": target.date}
        )
        terms.append(ForgetRequest(self.line_id(), self.day(), **scope))
        if rng.random() < 0.3:
            terms.append(Repermission(self.line_id(), self.day(), **scope))
        self.lines["forget_requests"] += terms
        named = target if rng.random() < 0.6 else other
        mode = rng.choice(("recommend", "tell", "personalise"))
        contact = self.names[2] if mode == "tell" else None
        if attribute:
            use = {"attribute": "spicy food", "category": named.category}
        else:
            use = {"item_name": named.item_name} if rng.random() < 0.6 else {"note_date": named.date}
        body = ForgottenAction(mode, contact=contact, **use)
        label = rules.uses_forgotten(
            rules.MemoryUse(**use),
            [rules.ForgetTerm(t.date, isinstance(t, Repermission), t.item_name, t.note_date, t.attribute, t.category) for t in terms],
            NOW.date(),
        )  # fmt: skip
        self.ask("forgotten_violation", "noul", "Proposed action", body, str(label).lower(), terms)

    def apply_memory(self) -> None:
        rng = self.rng
        fact = rng.choice(self.lines["memory"])
        category = fact.category if rng.random() < 0.5 else rng.choice(CATEGORIES)
        for_whom = self.names[0] if rng.random() < 0.3 else None
        body = TasteRequest("product", category, None, for_whom)
        label = rules.memory_counts(
            fact_category=fact.category, fact_owner=fact.owner, request_category=category, request_for=for_whom
        )
        self.ask("apply_memory", "noul", "Request", body, str(label).lower(), [fact], note_date=fact.date)

    def pick(self) -> None:
        rng = self.rng
        options = tuple(
            ItemOption(f"o{n}", name, "Grocery", self.money(4, 50), None, None, rng.randrange(10, 900))
            for n, name in enumerate(self.items[6 : 6 + rng.randrange(3, 5)])
        )
        body = PickRequest("product", "Grocery", None, options)
        self.lines["notes"].append(PastCases(self.line_id(), "sharing", 3, 8))
        self.ask("pick_option", "choice", "Request", body, options[0].option_id, [], options=options)


def build_draft(
    index: int, style_id: str, split: str = "dev", *, documents: bool = False, hard_names: bool = False
) -> DraftRecord:
    """The random draft of that number."""
    return DraftBuilder(index, style_id, split, documents=documents, hard_names=hard_names).build()
