"""What the synthetic world sells: categories with their nouns and the aspects on which items, and tastes, differ."""

from __future__ import annotations

from dataclasses import dataclass

from forthwith.personal.vocabulary import Domain

__all__ = ["CUISINES", "PRODUCTS", "Kind"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One category.

    Attributes:
        nouns: what an item is called.
        aspects: groups of traits; an item has at most one trait of a group.
        price: typical price in dollars (products) or dollar signs (restaurants).
    """

    domain: Domain
    category: str
    department: str
    nouns: tuple[str, ...]
    aspects: tuple[tuple[str, ...], ...]
    price: float


def _product(category: str, department: str, price: float, nouns: str, *aspects: str) -> Kind:
    return Kind("product", category, department, _split(nouns), tuple(_split(group) for group in aspects), price)


def _cuisine(category: str, price: float, nouns: str, *aspects: str) -> Kind:
    shared = ("quiet|lively", "candle-lit|bright", "counter-service|table-service", "small-plate|big-portion")
    return Kind(
        "restaurant", category, "Restaurants", _split(nouns), tuple(_split(g) for g in (*aspects, *shared)), price
    )


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


_G, _P, _H, _B, _A = "Grocery", "Pet Supplies", "Household", "Beauty", "Baby"

PRODUCTS: tuple[Kind, ...] = (
    _product(
        "coffee",
        _G,
        16,
        "beans|ground coffee|espresso blend",
        "smoky|fruity|nutty|floral",
        "dark-roast|light-roast",
        "decaf|high-caffeine",
        "organic|fair-trade",
    ),
    _product(
        "tea",
        _G,
        12,
        "loose tea|tea bags|iced tea mix",
        "minty|citrusy|malty|grassy",
        "caffeine-free|strong",
        "sweetened|unsweetened",
        "whole-leaf|powdered",
    ),
    _product(
        "chocolate",
        _G,
        9,
        "bar|truffles|baking chips",
        "bitter|milky|salted|chili",
        "dairy-free|creamy",
        "crunchy|smooth",
        "single-origin|nut-filled",
    ),
    _product(
        "pasta",
        _G,
        7,
        "penne|spaghetti|shells",
        "whole-wheat|gluten-free|egg",
        "thick|thin",
        "quick-cook|slow-dried",
        "tricolor|plain",
    ),
    _product(
        "hot sauce",
        _G,
        8,
        "hot sauce|salsa|chili oil",
        "smoky|vinegary|garlicky|sweet",
        "mild|scorching",
        "chunky|smooth",
        "low-salt|fermented",
    ),
    _product(
        "snack bars",
        _G,
        14,
        "bars|bites|squares",
        "chewy|crisp",
        "peanut|coconut|berry|date",
        "low-sugar|honeyed",
        "high-protein|light",
    ),
    _product(
        "dry dog food",
        _P,
        34,
        "kibble|dinner|crunch",
        "salmon|lamb|chicken|duck",
        "grain-free|oat-based",
        "small-bite|large-bite",
        "high-protein|low-fat",
    ),
    _product(
        "cat litter",
        _P,
        19,
        "litter|crystals|pellets",
        "clumping|non-clumping",
        "scented|unscented",
        "clay|pine|corn",
        "low-dust|lightweight",
    ),
    _product(
        "dog toys",
        _P,
        13,
        "chew toy|tug toy|puzzle toy",
        "squeaky|silent",
        "rope|rubber|plush",
        "floating|heavy",
        "tough|soft",
    ),
    _product(
        "bird seed",
        _P,
        15,
        "seed mix|nuggets|suet",
        "sunflower|millet|peanut",
        "shell-free|shelled",
        "waste-free|colorful",
        "spicy|plain",
    ),
    _product(
        "aquarium filters",
        _P,
        28,
        "filter|filter kit|pump",
        "whisper-quiet|powerful",
        "sponge|charcoal|ceramic",
        "corner|hanging",
        "dimmable|plain",
    ),
    _product(
        "storage baskets",
        _H,
        22,
        "basket|bin|tote",
        "linen|rattan|felt|wire",
        "foldable|rigid",
        "lidded|open",
        "striped|plain",
    ),
    _product(
        "desk lamps",
        _H,
        38,
        "lamp|task light|reading light",
        "warm-white|daylight",
        "dimmable|fixed",
        "clamp-on|weighted",
        "brass|matte-black|wooden",
    ),
    _product(
        "bath towels",
        _H,
        26,
        "towel|towel set|bath sheet",
        "plush|flat-weave|waffle",
        "quick-dry|heavyweight",
        "bamboo|cotton|linen",
        "fringed|hemmed",
    ),
    _product(
        "kitchen knives",
        _H,
        45,
        "chef knife|paring knife|bread knife",
        "serrated|straight-edge",
        "heavy|light",
        "wooden-handle|steel-handle",
        "hand-forged|stamped",
    ),
    _product(
        "air purifiers",
        _H,
        95,
        "purifier|tower purifier|desk purifier",
        "whisper-quiet|powerful",
        "scented|odor-free",
        "compact|tall",
        "app-controlled|manual",
    ),
    _product(
        "shampoo",
        _B,
        13,
        "shampoo|shampoo bar|cleansing balm",
        "lavender|citrus|unscented|herbal",
        "sulfate-free|deep-cleaning",
        "thick|runny",
        "moisturizing|volumizing",
    ),
    _product(
        "face cream",
        _B,
        24,
        "cream|lotion|gel",
        "rich|lightweight",
        "rose-scented|unscented|cucumber",
        "tinted|clear",
        "matte|dewy",
    ),
    _product(
        "lip balm",
        _B,
        6,
        "balm|butter|stick",
        "minty|honey|vanilla|cherry",
        "tinted|clear",
        "waxy|glossy",
        "vegan|beeswax",
    ),
    _product(
        "nail polish",
        _B,
        9,
        "polish|lacquer|gel polish",
        "glittery|matte|pearly",
        "quick-dry|long-wear",
        "pastel|dark|neon",
        "peel-off|hardening",
    ),
    _product(
        "baby bottles",
        _A,
        17,
        "bottle|bottle set|sippy cup",
        "glass|silicone|plastic",
        "wide-neck|narrow-neck",
        "slow-flow|fast-flow",
        "handled|plain",
    ),
    _product(
        "diapers",
        _A,
        32,
        "diapers|overnight diapers|training pants",
        "thin|extra-absorbent",
        "scented|unscented",
        "stretchy|snug",
        "patterned|plain",
    ),
    _product(
        "strollers",
        _A,
        140,
        "stroller|jogger|travel buggy",
        "foldable|all-terrain",
        "lightweight|sturdy",
        "reversible|forward-facing",
        "bright|muted",
    ),
    _product(
        "baby blankets",
        _A,
        21,
        "blanket|swaddle|quilt",
        "fleece|muslin|knitted",
        "patterned|plain",
        "oversized|compact",
        "warm|breathable",
    ),
)
"""Product categories in a fixed order."""

CUISINES: tuple[Kind, ...] = (
    _cuisine("Thai", 2, "Thai Kitchen|Noodle House|Thai Table", "fiery|mild", "curry-heavy|grill-heavy|noodle-heavy"),
    _cuisine(
        "Italian",
        3,
        "Trattoria|Osteria|Pasta Bar",
        "wood-fired|hand-rolled",
        "seafood-heavy|meat-heavy|vegetable-heavy",
    ),
    _cuisine("Mexican", 2, "Taqueria|Cantina|Taco Bar", "fiery|mild", "street-style|slow-cooked|seafood-heavy"),
    _cuisine("Indian", 2, "Curry House|Tandoor|Spice Room", "fiery|mild", "creamy|tandoori|lentil-heavy"),
    _cuisine("Japanese", 3, "Sushi Bar|Ramen Shop|Izakaya", "raw-bar|fried", "broth-heavy|rice-heavy|grill-heavy"),
    _cuisine("French", 4, "Bistro|Brasserie|Cafe", "buttery|light", "meat-heavy|seafood-heavy|pastry-heavy"),
    _cuisine("Burgers", 1, "Burger Bar|Grill|Burger Stand", "charred|smashed", "classic|loaded|plant-based"),
    _cuisine("Pizza", 1, "Pizzeria|Slice Shop|Pizza Hall", "thin-crust|deep-dish", "classic|loaded|white-sauce"),
    _cuisine("Seafood", 3, "Fish House|Oyster Room|Crab Shack", "raw-bar|fried", "buttery|spicy|herby"),
    _cuisine(
        "Vegetarian", 2, "Green Table|Garden Kitchen|Salad Bar", "raw|roasted", "bean-heavy|cheese-heavy|grain-heavy"
    ),
    _cuisine("Korean", 2, "Barbecue|Bibim House|Soup House", "fiery|mild", "grill-heavy|stew-heavy|rice-heavy"),
    _cuisine(
        "Breakfast", 1, "Breakfast Club|Pancake House|Egg Bar", "sweet|savory", "griddle-heavy|pastry-heavy|egg-heavy"
    ),
)
"""Cuisines in a fixed order."""
