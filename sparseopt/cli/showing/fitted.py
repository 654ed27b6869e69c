"""What ``sparseopt fit`` shows of an estimator: facts, coefficients, components or edges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from sparseopt.cards import NamedValues

_GRAPHS = ("graph_", "precision_", "difference_")
"""Attributes of estimators whose answer is a graph."""
_EDGES = 40
"""Edges that are printed; JSON has all."""


def facts_of(fitted: Any, target: str | None) -> dict[str, Any]:
    """Return what a person asks for first, ready for JSON.

    Parameters
    ----------
    fitted : estimator
    target : str, optional
        The name of the target's column.
    """
    classes = getattr(fitted, "classes_", None)
    facts: dict[str, Any] = {"model": type(fitted).__name__}
    if target is not None:
        facts["target"] = target
    if classes is not None:
        facts["positive class"] = str(classes[-1])
    if hasattr(fitted, "rule"):
        facts["rule"] = _rule(fitted)
    for name in ("lam", "size", "budget"):
        if hasattr(fitted, f"{name}_"):
            facts[name] = getattr(fitted, f"{name}_")
    verdicts = np.unique(np.atleast_1d(fitted.verdict_)).tolist()
    facts["verdict"] = verdicts[0] if len(verdicts) == 1 else "unproven"
    gap = getattr(fitted, "gap_", None)
    facts["gap"] = None if gap is None else float(np.max(gap))
    results = getattr(fitted, "results_", None) or [getattr(fitted, "result_", None)]
    facts["backend"] = getattr(results[0], "backend", None)
    return {name: value for name, value in facts.items() if value is not None}


def _rule(fitted: Any) -> str | None:
    """Return the rule that chose, or "given"."""
    fixed = next((name for name in ("lam", "size", "budget") if hasattr(fitted, name)), "rule")
    if fixed != "rule" and getattr(fitted, fixed) is not None:
        return "given"
    return fitted.rule or getattr(fitted, "_default_rule", None)


def shown_of(fitted: Any) -> dict[str, Any]:
    """Return what was found by name, ready for JSON: coefficients, components or edges.

    Parameters
    ----------
    fitted : estimator
    """
    from sparseopt.estimators.common.columns import names_of
    from sparseopt.estimators.displays import edge_weights

    names = names_of(fitted)
    if hasattr(fitted, "components_"):
        return {"components": [NamedValues(names, each).nonzero() for each in fitted.components_]}
    if any(hasattr(fitted, name) for name in _GRAPHS):
        weights = np.triu(edge_weights(fitted), 1)
        rows, columns = np.nonzero(weights)
        order = np.argsort(-np.abs(weights[rows, columns]), kind="stable")
        return {
            "edges": [
                [names[i], names[j], float(weights[i, j])]
                for i, j in zip(rows[order], columns[order], strict=True)
            ]
        }
    return {"coefficients": fitted.coefficients_.nonzero()}


def print_fitted(facts: dict[str, Any], shown: dict[str, Any]) -> None:
    """Print facts, and a table of what was found.

    Parameters
    ----------
    facts, shown : dict
        Of :func:`facts_of` and :func:`shown_of`.
    """
    from sparseopt.cli.showing.tables import print_facts, print_table

    print_facts((name, _number(value)) for name, value in facts.items())
    if "components" in shown:
        found = shown["components"]
        # In the order of the largest loading of each column.
        size = {
            name: max(abs(each.get(name, 0.0)) for each in found) for each in found for name in each
        }
        names = sorted(size, key=lambda name: -size[name])
        rows = [[name, *(_number(each.get(name, 0.0)) for each in found)] for name in names]
        print_table(["column", *map(str, range(1, len(found) + 1))], rows)
    elif "edges" in shown:
        edges = shown["edges"]
        if not edges:
            click.echo("\nno edges")
            return
        print_table(
            ["column", "column", "weight"], [[a, b, _number(w)] for a, b, w in edges[:_EDGES]], 2
        )
        if len(edges) > _EDGES:
            click.echo(f"... and {len(edges) - _EDGES} smaller ones (--json has all)")
    else:
        rows = [[name, _number(value)] for name, value in shown["coefficients"].items()]
        print_table(["coefficient", "value"], rows)


def _number(value: Any) -> Any:
    return f"{value:.8g}" if isinstance(value, float) else value


def draw(fitted: Any, file: Path, title: str) -> None:
    """Draw the graph, or what :func:`sparseopt.plot` shows of the estimator, into a file.

    Parameters
    ----------
    fitted : estimator
    file : path
    title : str
    """
    from sparseopt.estimators.common.columns import names_of
    from sparseopt.estimators.displays import GraphDisplay, edge_weights
    from sparseopt.pictures import save_picture

    graph = any(hasattr(fitted, name) for name in _GRAPHS)
    shown = GraphDisplay(edge_weights(fitted), names_of(fitted)) if graph else fitted
    save_picture(shown, file, title=title)
