"""Statements, their audit, the calibration and the ledger against the package dp-accounting."""

import json
import math

import numpy as np
import pytest
from thorough import first

from sparseopt import private
from sparseopt.estimators import PrivateMeanEmbedding, PrivateSynthesizer
from sparseopt.private.gaussian import calibrate

dp_accounting = pytest.importorskip("dp_accounting")
common = pytest.importorskip("dp_accounting.pld.common")
accountant = pytest.importorskip("dp_accounting.pld.pld_privacy_accountant")
mechanism = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")

BUDGETS = [(0.1, 1e-5), (1.0, 1e-6), (3.0, 1e-9), (8.0, 1e-3)]
BOUNDS = {"age": (0, 100), "job": ["a", "b", "c"]}
AGREE = 1e-6


def rows(N=60):
    rng = np.random.default_rng(0)
    return {"age": rng.uniform(0.0, 100.0, N), "job": rng.choice(["a", "b", "c"], N)}


def loss_of(facts):
    """The privacy loss that dp-accounting gives the two integers of a statement."""
    return mechanism.GaussianPrivacyLoss(
        standard_deviation=math.sqrt(facts["variance"]),
        sensitivity=math.sqrt(facts["sensitivity_squared"]),
    )


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_noise_is_the_least(epsilon, delta):
    guarantee = common.DifferentialPrivacyParameters(epsilon, delta)
    theirs = mechanism.GaussianPrivacyLoss.from_privacy_guarantee(guarantee).standard_deviation
    assert 1.0 / calibrate(epsilon, delta) == pytest.approx(theirs, rel=AGREE)


@pytest.mark.parametrize("estimator", [PrivateMeanEmbedding, PrivateSynthesizer])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("epsilon", "delta"), first(1, BUDGETS))
def test_what_estimators_state(estimator, neighbours, epsilon, delta, tmp_path):
    more = {"atoms": 16} if estimator is PrivateSynthesizer else {}
    model = estimator(
        bounds=BOUNDS, epsilon=epsilon, delta=delta, neighbours=neighbours, **more
    ).fit(rows())
    model.statement_.save(tmp_path / "statement.json")
    facts = json.loads((tmp_path / "statement.json").read_text())
    loss = loss_of(facts)
    # What was asked is spent, and no more: in delta, and in epsilon.
    assert loss.get_delta_for_epsilon(epsilon) == pytest.approx(delta, rel=AGREE)
    assert loss.get_delta_for_epsilon(epsilon) <= delta
    composed = accountant.PLDAccountant().compose(
        dp_accounting.GaussianDpEvent(1.0 / model.statement_.eta)
    )
    assert composed.get_epsilon(delta) == pytest.approx(epsilon, rel=AGREE)
    for stated_epsilon, stated in facts["curve"]:
        theirs = loss.get_delta_for_epsilon(stated_epsilon)
        assert stated == pytest.approx(theirs, rel=AGREE, abs=1e-80)
    for other in (0.0, 1e-3, 0.77 * epsilon, 1.5 * epsilon, 20.0):
        theirs = loss.get_delta_for_epsilon(other)
        assert model.statement_.delta_at(other) == pytest.approx(theirs, rel=AGREE, abs=1e-80)
    report = private.audit(model.statement_)
    assert report.holds
    assert report.delta == pytest.approx(loss.get_delta_for_epsilon(epsilon), rel=AGREE)


def test_the_audit_says_what_less_noise_gives():
    facts = json.loads(
        json.dumps(
            dict(private.release(rows(), bounds=BOUNDS, epsilon=1.0, delta=1e-6).statement.data)
        )
    )
    for shrunk in (2, 10, 100):
        lied = {**facts, "variance": facts["variance"] // shrunk}
        report = private.audit(private.Statement(lied))
        assert not report.holds
        assert report.delta == pytest.approx(loss_of(lied).get_delta_for_epsilon(1.0), rel=AGREE)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_what_a_ledger_has_spent(count):
    ledger = private.Ledger(epsilon=1.0, delta=1e-5)
    composed = accountant.PLDAccountant()
    for epsilon in (0.4, 0.3, 0.25, 0.2)[:count]:
        released = private.release(
            rows(), bounds=BOUNDS, epsilon=epsilon, delta=1e-6, ledger=ledger
        )
        composed.compose(dp_accounting.GaussianDpEvent(1.0 / released.statement.eta))
    assert ledger.spent == pytest.approx(composed.get_delta(1.0), rel=AGREE)
