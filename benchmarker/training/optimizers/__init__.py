"""The optimizers that come with benchmarker, one family a module."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarker.api.update_rule import UpdateRule
from benchmarker.training.optimizers.accelegrad import AcceleGrad
from benchmarker.training.optimizers.adafactor import Adafactor
from benchmarker.training.optimizers.adam import Adam, AdamW, Lamb, NAdam
from benchmarker.training.optimizers.gradient_descent import GradientDescent, Momentum, Nesterov
from benchmarker.training.optimizers.lars import Lars
from benchmarker.training.optimizers.lion import Lion
from benchmarker.training.optimizers.muon import Muon
from benchmarker.training.optimizers.root_mean_square import AdaGrad, RMSProp
from benchmarker.training.optimizers.schedule_free import ScheduleFreeAdamW, ScheduleFreeSgd

BUILT_IN: Mapping[str, UpdateRule] = {
    rule.name: rule
    for rule in (
        GradientDescent(),
        Momentum(),
        Nesterov(),
        Adam(),
        AdamW(),
        RMSProp(),
        AdaGrad(),
        NAdam(),
        Lion(),
        Lamb(),
        Lars(),
        Adafactor(),
        Muon(),
        ScheduleFreeSgd(),
        ScheduleFreeAdamW(),
        AcceleGrad(),
    )
}
"""Each with its usual constants, by name: for workers, which see no entry points."""
