"""Language, transformer, recurrent, speech, recommendation and graph problems, and single operators."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

from benchmarker import registry
from benchmarker.api.optimizer import OPTIMIZERS
from benchmarker.api.options import option_types
from benchmarker.api.problem import Problem, Published
from benchmarker.data.values import draw_batch, draw_parameters
from benchmarker.errors import UsageError
from benchmarker.graph.cost import graph_cost
from benchmarker.graph.graph import Graph
from benchmarker.problems import dlrm, schnet
from benchmarker.problems.layers import molecules, spherical
from benchmarker.worker.verification.reference import compute
from benchmarker.worker.verification.tolerances import too_ill_conditioned

NAMES = (
    *("gemm", "batchmatmul", "attention", "lstm", "gru", "layer_norm", "embedding"),
    *("vit_base_16", "deit_base_16", "bert_base", "bert_large", "roberta_base", "roberta_large"),
    *("gpt2", "llama", "transformer_base", "lstm_char", "lstm_imdb", "deepspeech2", "ncf", "dlrm", "schnet"),
    *("bert_custom", "dimenet"),
)
PROBLEMS: dict[str, Problem] = {name: registry.problem(name) for name in NAMES}
ENTRIES = [
    pytest.param(problem, entry, id=f"{name}-{number}")
    for name, problem in PROBLEMS.items()
    for number, entry in enumerate(problem.published)
]


def reduced(problem: Problem, **values: Any) -> Graph:
    return problem.graph(problem.reduced_batch_size, **{**problem.reduced, **values})


def problem_ids(value: object) -> str:
    return value.name if isinstance(value, Problem) else ""


def operators(graph: Graph) -> list[str]:
    return [node.operator for node in graph.nodes]


every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=problem_ids)


@pytest.mark.parametrize(("problem", "entry"), ENTRIES)
def test_published_counts(problem: Problem, entry: Published) -> None:
    graph = problem.graph(2, **entry.values)
    assert graph.parameter_count == entry.parameters
    if entry.flops is not None:
        assert graph_cost(graph, training=False).forward_flops == 2 * entry.flops


@every_problem
def test_every_problem_has_published_counts_of_its_defaults(problem: Problem) -> None:
    assert not problem.published[0].values
    assert problem.published[0].flops is not None


@every_problem
def test_every_problem_says_what_it_is(problem: Problem) -> None:
    graph = problem.graph()
    assert PROBLEMS[problem.name] is problem
    assert problem.task
    assert problem.source
    assert problem.parameters.__doc__
    assert problem.optimizer.kind in OPTIMIZERS
    assert graph.loss is not None
    assert graph.types[graph.loss].shape == ()
    for name in (*(i.name for i in graph.inputs), *graph.outputs):
        assert graph.types[name].shape[0] == problem.batch_size


@every_problem
def test_the_reduced_problem_has_every_operator_of_the_full_one(problem: Problem) -> None:
    small, full = reduced(problem), problem.graph()
    assert full.operators <= small.operators
    assert small.without_loss().operators >= full.without_loss().operators
    assert small.parameter_count < 30_000


@every_problem
def test_the_reduced_problem_survives_json(problem: Problem) -> None:
    graph = reduced(problem)
    assert Graph.from_json(json.loads(json.dumps(graph.to_json()))) == graph


@every_problem
def test_the_reduced_problem_is_well_conditioned(problem: Problem) -> None:
    graph = reduced(problem)
    for mode, part in (("inference", graph.without_loss()), ("training", graph)):
        expected = compute(part, draw_parameters(part, 1), draw_batch(part, 1), mode)
        assert too_ill_conditioned(expected) is None
        assert all(math.isfinite(e.tensor_sample.norm) for e in expected)


@every_problem
def test_impossible_numbers_are_refused(problem: Problem) -> None:
    kinds = option_types(problem.parameters)
    wrong: dict[type, tuple[float, ...]] = {int: (0, -1, -1000), float: (-1.0,)}
    for name, kind in kinds.items():
        for value in wrong.get(kind, ()):
            values = {**problem.reduced, name: value}
            if "head" in kinds:
                values["head"] = "classification" if name == "classes" else "mlm"
            with pytest.raises(UsageError, match=r"must|needs"):
                problem.graph(2, **values)


REFUSALS = (
    ("bert_base", {"head": "nsp"}, "'head' must be one of mlm, pooler, classification, got 'nsp'"),
    ("bert_base", {"heads": 5}, "'width' must be a multiple of 'heads', got 768 and 5"),
    (
        "bert_base",
        {"length": 513},
        "a sequence of 513 needs as many positions, and .* has 512; take a shorter",
    ),
    ("bert_base", {"dropout": 1.0}, "ratio must be at least 0 and below 1, got 1.0"),
    ("roberta_base", {"length": 513}, "a sequence of 513 needs as many positions, and .* has 512"),
    ("gpt2", {"length": 1025}, "and 'embedding.position.weight' has 1024"),
    ("vit_base_16", {"image_size": 225}, "'image_size' must be a multiple of 'patch', got 225 and 16"),
    ("llama", {"kv_heads": 3}, "'heads' must be a multiple of 'kv_heads', got 8 and 3"),
    ("llama", {"width": 40}, "'width' / 'heads' must be even, for pairs to rotate, got 40 / 8"),
    (
        "transformer_base",
        {"label_smoothing": 1.0},
        "'label_smoothing' must be at least 0 and below 1, got 1.0",
    ),
    ("lstm", {"direction": "reverse"}, "direction must be forward or bidirectional, got 'reverse'"),
    ("deepspeech2", {"cell": "rnn"}, "cell must be one of lstm, gru, got 'rnn'"),
    ("deepspeech2", {"transcript": 200}, "may need 399 steps, and the convolutions leave 350"),
    ("deepspeech2", {"padded": False, "bins": 40}, "window of 41 does not fit an axis of size 40"),
    ("schnet", {"atoms": 40}, "is 15.8 angstrom long, and 'radius' must be more, got 10"),
    ("dimenet", {"radius": 4.0}, "of 6 atoms is 4.17 angstrom long, and 'radius' must be more, got 4"),
    ("dimenet", {"atoms": 400}, "2 molecules of 400 atoms have more than 4194304 triplets"),
    ("layer_norm", {"epsilon": 0.0}, "'epsilon' must be above 0, got 0"),
)


@pytest.mark.parametrize(("name", "values", "message"), REFUSALS)
def test_refusals_say_what_would_be_right(name: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        PROBLEMS[name].graph(2, **values)


def test_deit_is_vit_without_dropout() -> None:
    vit, deit = PROBLEMS["vit_base_16"], PROBLEMS["deit_base_16"]
    assert operators(vit.graph(1)).count("dropout") == 1 + 12 * 3
    without = vit.graph(1, dropout=0.0)
    assert dataclasses.replace(deit.graph(1), name="vit_base_16") == without


@pytest.mark.parametrize(
    ("head", "shape", "labels"),
    [("mlm", (4, 16, 50), "label"), ("pooler", (4, 24), None), ("classification", (4, 3), "label")],
)
def test_heads_of_bert(head: str, shape: tuple[int, ...], labels: str | None) -> None:
    graph = reduced(PROBLEMS["bert_base"], head=head)
    assert graph.types[graph.outputs[0]].shape == shape
    assert ("label" in {i.name for i in graph.inputs}) == (labels is not None)
    assert graph.loss is not None


def test_bert_predicts_masked_tokens_only() -> None:
    graph = reduced(PROBLEMS["bert_base"])
    loss = next(node for node in graph.nodes if node.operator == "softmax_cross_entropy_loss")
    assert loss.attributes["ignore_index"] == -100
    whole = PROBLEMS["bert_base"].graph(4)
    label = draw_batch(whole, 0)["label"]
    assert 0.1 < float(np.mean(label != -100)) < 0.2
    assert set(np.unique(label[label < 0])) == {-100}


def test_bert_tells_two_sentences_apart() -> None:
    segment = draw_batch(reduced(PROBLEMS["bert_base"]), 0)["segment"]
    assert segment.tolist() == [[0] * 8 + [1] * 8] * 4


def test_positions_of_roberta_start_at_row_2() -> None:
    graph = reduced(PROBLEMS["roberta_base"])
    table = next(node for node in graph.nodes if node.operator == "slice")
    assert (table.attributes["starts"], table.attributes["ends"]) == ((2,), (18,))


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_language_models_see_only_what_came_before(name: str) -> None:
    graph = reduced(PROBLEMS[name])
    attention = [node for node in graph.nodes if node.operator == "attention"]
    assert attention
    assert all(node.attributes["is_causal"] for node in attention)


def test_heads_of_llama_share_keys_and_values() -> None:
    graph = reduced(PROBLEMS["llama"])
    assert graph.types["layer1.attention.key.weight"].shape == (16, 32)
    assert operators(graph).count("expand") == 2 * 2
    assert operators(PROBLEMS["llama"].graph(1)).count("expand") == 0


def test_llama_may_score_by_its_embedding() -> None:
    tied = {p.name for p in reduced(PROBLEMS["llama"], tied=True).parameters}
    assert {p.name for p in reduced(PROBLEMS["llama"]).parameters} - tied == {"head.weight"}


def test_positions_of_the_transformer_are_a_table_that_never_changes() -> None:
    graph = reduced(PROBLEMS["transformer_base"])
    assert [p.name for p in graph.parameters if not p.trainable] == ["position"]
    causal = [n.attributes["is_causal"] for n in graph.nodes if n.operator == "attention"]
    assert causal == [False, False, True, False, True, False]


def test_smoothed_loss_is_that_of_smoothed_labels() -> None:
    graph = reduced(PROBLEMS["transformer_base"], label_smoothing=0.2)
    parameters, batch = draw_parameters(graph, 0), draw_batch(graph, 0)
    scores = {e.kind: e for e in compute(graph.without_loss(), parameters, batch, "inference")}["output"]
    rows = scores.tensor_sample.values.reshape(-1, 50)
    log_p = rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))
    targets = 0.8 * np.eye(50)[batch["label"].reshape(-1)] + 0.2 / 50
    expected = -(targets * log_p).sum(axis=1).mean()
    loss = next(e for e in compute(graph, parameters, batch, "training") if e.kind == "loss")
    assert loss.tensor_sample.values[0] == pytest.approx(expected, rel=1e-10)


def test_texts_of_lstm_char_are_one_hot() -> None:
    text = draw_batch(PROBLEMS["lstm_char"].graph(3), 0)["text"]
    assert text.shape == (3, 40, 57)
    assert (text.sum(axis=2) == 1).all()


def test_transcripts_have_no_blank() -> None:
    label = draw_batch(PROBLEMS["deepspeech2"].graph(4), 0)["label"]
    assert label.min() == 1
    assert label.max() == 28


def test_tables_of_dlrm() -> None:
    assert sum(dlrm.CRITEO_KAGGLE) == 33_762_577
    rows = [p.type.shape[0] for p in PROBLEMS["dlrm"].graph(2).parameters if p.name.startswith("table")]
    assert rows == [min(n, 10_000) for n in dlrm.CRITEO_KAGGLE]


def test_dlrm_takes_each_pair_once() -> None:
    pair = draw_batch(PROBLEMS["dlrm"].graph(2), 0)["pair"]
    assert pair.shape == (2, 351)
    assert {(int(place) // 27, int(place) % 27) for place in pair[1]} == {
        (i, j) for i in range(27) for j in range(i)
    }


def test_neighbours_of_a_molecule_are_its_own_atoms() -> None:
    graph = PROBLEMS["schnet"].graph(3)
    neighbour = draw_batch(graph, 0)["neighbour"]
    assert neighbour.shape == (3, 18, 17)
    for sample in range(3):
        for atom in range(18):
            own = 18 * sample + atom
            assert sorted([*neighbour[sample, atom], own]) == list(range(18 * sample, 18 * sample + 18))


def test_a_molecule_is_no_denser_than_molecules_are() -> None:
    positions = molecules.helix(18)
    apart = [math.dist(positions[i], positions[j]) for i, j in molecules.neighbours(18)]
    assert len(apart) == 306
    assert min(apart) > 1.9
    assert max(apart) < 10.0
    assert schnet.cosine_cutoff(0.0, 10.0) == 1.0
    assert schnet.cosine_cutoff(10.0, 10.0) == pytest.approx(0.0)


def test_spherical_functions_are_those_of_the_closed_forms() -> None:
    z = 4.4934094579090642  # the first root of tan(z) = z
    zeros = spherical.bessel_zeros(3, 2)
    assert zeros[0] == pytest.approx([math.pi, 2 * math.pi], rel=1e-15)
    assert zeros[1][0] == pytest.approx(z, rel=1e-14)
    assert spherical.bessel_value(2, zeros[2][1]) == pytest.approx(0.0, abs=1e-14)
    # The integral of (a j_0(pi x))^2 x^2 from 0 to 1 is a^2 / (2 pi^2).
    assert spherical.bessel_norms(zeros)[0][0] == pytest.approx(math.sqrt(2.0) * math.pi, rel=1e-14)


def test_triplets_name_the_pairs_that_reach_a_pair() -> None:
    batch = draw_batch(PROBLEMS["dimenet"].graph(2), 0)
    neighbour, message = batch["neighbour"].reshape(-1), batch["message"]
    for sample, atom in ((0, 0), (1, 5)):
        for number in range(5):
            pairs = message[sample, atom, number]
            assert set(pairs // 5) == {batch["neighbour"][sample, atom, number]}
            assert sorted(neighbour[pairs]) == sorted(batch["third"][sample, atom, number])


def test_the_first_samples_of_a_mini_batch_are_a_mini_batch() -> None:
    for problem in PROBLEMS.values():
        large = draw_batch(problem.graph(4, **problem.reduced), 0)
        small = draw_batch(problem.graph(2, **problem.reduced), 0)
        for name, array in small.items():
            np.testing.assert_array_equal(large[name][:2], array)
