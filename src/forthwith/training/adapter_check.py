"""Whether a served adapter takes effect: its answers must differ from the base's, and agree with the adapter run here.

A server that cannot place an adapter's tensors may load it without a word and answer as the base.
"""

from __future__ import annotations

from dataclasses import dataclass

from forthwith.encoding import Encoder
from forthwith.engine.protocol import Engine
from forthwith.readout import Readout
from forthwith.training.probes import ProbeGap, compare_scores, probe_scores

__all__ = ["AdapterVerdict", "check_adapter"]

_SAME = 1e-4
_AGREES = 0.3


@dataclass(frozen=True)
class AdapterVerdict:
    """What the probes showed.

    Attributes:
        from_base: gap between the served base and the served adapter.
        from_reference: gap between the served adapter and the one run here; None without a reference.
        takes_effect: the served adapter answers otherwise than the base, and nearer to the reference than the base does.
        reason: one sentence.
    """

    from_base: ProbeGap
    from_reference: ProbeGap | None
    takes_effect: bool
    reason: str


def check_adapter(
    base: Engine, adapter: Engine, encoder: Encoder, readout: Readout, reference: Engine | None = None
) -> AdapterVerdict:
    """Compare a served base with a served adapter, and the adapter with a local reference.

    Args:
        base: the base on the server.
        adapter: the adapter on the server.
        encoder: the tokenizer.
        readout: the adapter's readout.
        reference: base and adapter merged, run here.
    """
    base_scores, adapter_scores = (probe_scores(engine, encoder, readout) for engine in (base, adapter))
    from_base = compare_scores(base_scores, adapter_scores)
    if from_base.largest <= _SAME:
        reason = (
            f"the server answers {from_base.questions} probe questions alike with and without the adapter: it is not applied;"
            " compare the adapter's tensor names with the server's module names"
        )
        return AdapterVerdict(from_base, None, takes_effect=False, reason=reason)
    if reference is None:
        return AdapterVerdict(from_base, None, takes_effect=True, reason="the adapter changes the answers")
    expected = probe_scores(reference, encoder, readout)
    from_reference = compare_scores(expected, adapter_scores)
    base_gap = compare_scores(expected, base_scores)
    agrees = from_reference.largest <= max(_AGREES, base_gap.largest / 2)
    reason = (
        "the adapter changes the answers, to those it gives here"
        if agrees
        else f"the adapter changes the answers, but not to those it gives here (off by up to {from_reference.largest:.3f} nats):"
        " a part of it may be ignored, or the server runs another base"
    )
    return AdapterVerdict(from_base, from_reference, takes_effect=agrees, reason=reason)
