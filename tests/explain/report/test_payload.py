"""What a page is told about a model: every entry against the model itself."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tsenet
from tests.explain.models import dense_rows, fitted, targets
from tests.explain.report.corpus import classifier, documents, model, table, tree
from tsenet.errors import DataError
from tsenet.explain import every_topic, topic_tree, view_topics
from tsenet.explain.report import report_payload
from tsenet.explain.units import describe_units
from tsenet.topics.presence import tree_strengths

Payload = dict[str, Any]


def pairs(flat: list[Any], stride: int = 2) -> list[tuple[Any, ...]]:
    return list(zip(*(flat[k::stride] for k in range(stride)), strict=True))


@pytest.fixture(scope="module")
def network() -> Payload:
    """The classifier with everything that can be given."""
    texts, subjects = documents()
    return report_payload(classifier(), table(), subjects, texts=texts)


@pytest.fixture(scope="module")
def topics() -> Payload:
    texts, subjects = documents()
    return report_payload(tree(), table(), texts=texts, along=subjects, along_name="subject")


class TestEveryModel:
    def test_is_plain_json_in_both_directions(self, network: Payload, topics: Payload) -> None:
        for payload in (network, topics):
            again = json.loads(json.dumps(payload, allow_nan=False))
            assert again == json.loads(json.dumps(again))
        assert set(network) == set(topics)

    def test_nodes_and_parents_are_the_trees(self, network: Payload) -> None:
        tree = classifier().tree_
        assert network["names"] == list(tree.names)
        assert network["layers"] == list(tree.layer_sizes)
        start = sum(tree.layer_sizes[:-1])
        assert network["parent"][:start] == tree.parent[:start].tolist()
        assert set(network["parent"][start:]) == {-1}

    def test_words_are_those_of_the_topics(self, network: Payload, topics: Payload) -> None:
        for payload, known, rows in (
            (network, classifier().tree_, None),
            (topics, tree(), table()),
        ):
            waiting = topic_tree(known, rows)
            while waiting:
                topic = waiting.pop()
                waiting += topic.children
                u = known.latent_names.index(topic.name)
                units = payload["units"]
                assert units["label"][u] == topic.title
                assert units["fields"] == ["information", "inside", "outside"]
                found = pairs(units["features"][u], 4)
                assert [known.names[node] for node, *_ in found] == [w.word for w in topic.words]
                for (_, *values), word in zip(found, topic.words, strict=True):
                    wanted = [word.information, word.inside, word.outside]
                    assert values == pytest.approx(wanted, rel=5e-3)


class TestTree:
    def test_shares_are_of_rows_with_the_topic(self, topics: Payload) -> None:
        present = tree_strengths(tree(), tree().binary(table())).toarray() >= 0.5
        assert topics["units"]["share"] == pytest.approx(present.mean(axis=0), rel=5e-3)
        bare = report_payload(tree())
        expected = tree().marginals()[tree().n_observed :]
        assert bare["units"]["share"] == pytest.approx(expected, rel=5e-3)

    def test_rows_are_those_where_a_topic_is_most_surely_on(self, topics: Payload) -> None:
        texts, _ = documents()
        posterior = tree().posterior(table())
        rows = topics["rows"]
        for u, flat in enumerate(rows["of"]):
            best = np.argsort(-posterior[:, u], kind="stable")[:5]
            assert [row for row, _ in pairs(flat)] == best.tolist()
            for row, value in pairs(flat):
                assert value == pytest.approx(posterior[row, u], rel=5e-3)
                assert rows["texts"][str(row)] == texts[row]
        assert rows["truth"] == rows["predicted"] == {}

    def test_documents_are_drawn_by_their_lowest_topics(self, topics: Payload) -> None:
        strengths = tree_strengths(tree(), tree().binary(table())).toarray()
        n_inputs, parent = topics["layers"][0], topics["parent"]
        names = topics["names"][n_inputs:]
        column = [tree().latent_names.index(name) for name in names]
        rows = topics["documents"]["rows"]
        assert rows == np.flatnonzero((strengths >= 0.5).any(axis=1)).tolist()
        for row, flat, text in zip(
            rows, topics["documents"]["of"], topics["documents"]["texts"], strict=True
        ):
            present = {
                n_inputs + k: strengths[row, c]
                for k, c in enumerate(column)
                if strengths[row, c] >= 0.5
            }
            lowest = {
                node: strength
                for node, strength in present.items()
                if node not in {parent[other] for other in present}
            }
            expected = sorted(lowest.items(), key=lambda item: (-item[1], item[0]))[:3]
            assert [node for node, _ in pairs(flat)] == [node for node, _ in expected]
            assert [value for _, value in pairs(flat)] == pytest.approx(
                [value for _, value in expected], rel=5e-3
            )
            assert text == documents()[0][row]

    def test_along_a_column(self, topics: Payload) -> None:
        _, subjects = documents()
        along = topics["along"]
        assert (along["name"], along["kind"]) == ("subject", "labels")
        assert along["bins"] == ["politics", "space", "sport"]
        assert along["counts"] == [int((subjects == name).sum()) for name in along["bins"]]
        present = tree_strengths(tree(), tree().binary(table())).toarray() >= 0.5
        for u, shares in enumerate(along["of"]):
            wanted = [present[subjects == name, u].mean() for name in along["bins"]]
            assert np.array(shares) / 10_000 == pytest.approx(np.array(wanted), abs=6e-5)


class TestNetwork:
    def test_units_are_described_by_data(self, network: Payload) -> None:
        fitted = classifier()
        found = describe_units(
            fitted, table(), feature_names=fitted.wiring_.names[0], order="signed"
        )
        trained, rows = network["trained"], network["rows"]
        assert rows["kind"] == "activation"
        for u, name in enumerate(network["names"][network["layers"][0] :]):
            unit = found[name]
            assert trained["label"][u] == unit.label
            assert trained["active"][u] == pytest.approx(unit.active, rel=5e-3)
            assert trained["mean"][u] == pytest.approx(unit.mean, rel=5e-3)
            features = pairs(trained["features"][u], 3)
            assert [network["names"][node] for node, *_ in features] == [
                feature.name for feature in unit.features
            ]
            for (_, correlation, weight), feature in zip(features, unit.features, strict=True):
                assert correlation == pytest.approx(feature.correlation, rel=5e-3)
                assert (weight is None) == (feature.weight is None)
                assert weight is None or weight == pytest.approx(feature.weight, rel=5e-3)
            assert [row for row, _ in pairs(rows["of"][u])] == [row.row for row in unit.rows]

    def test_shown_rows_have_text_truth_and_prediction(self, network: Payload) -> None:
        texts, subjects = documents()
        predicted = classifier().predict(table())
        rows = network["rows"]
        shown = {int(row) for flat in rows["of"] for row, _ in pairs(flat)}
        assert shown
        for known in (rows["texts"], rows["truth"], rows["predicted"]):
            assert {int(row) for row in known} == shown
        for row in shown:
            assert rows["texts"][str(row)] == texts[row]
            assert rows["truth"][str(row)] == subjects[row]
            assert rows["predicted"][str(row)] == predicted[row]

    def test_classes(self, network: Payload) -> None:
        found, classes = describe_units(classifier(), table()), network["classes"]
        assert classes["names"] == ["politics", "space", "sport"]
        assert classes["counts"] == [int((documents()[1] == n).sum()) for n in classes["names"]]
        assert classes["direct"] is None  # there is no linear skip
        for u, name in enumerate(network["names"][network["layers"][0] :]):
            effects = {c: effect for c, effect in enumerate(found[name].classes or ()) if effect}
            assert dict(pairs(classes["of"][u])) == pytest.approx(effects, rel=5e-3)

    def test_inputs_speak_by_the_linear_skip(self) -> None:
        fitted = model(documents()[1], linear_skip=True, init="principal")
        weight = fitted.net_.linear_skip.detach().numpy()
        assert weight.any()
        payload = report_payload(fitted, table())
        classes = payload["classes"]
        read = next(fitted.network_inputs(table())).values.toarray()
        effect = weight * read.std(axis=0)[:, None]
        for c, flat in enumerate(classes["direct"]):
            shown = dict(pairs(flat))
            assert list(shown) == list(np.argsort(-np.abs(effect[:, c]), kind="stable"))
            assert shown == pytest.approx(dict(enumerate(effect[:, c])), rel=1e-2)

    def test_without_a_tree_units_are_named_by_training(self) -> None:
        wiring = tsenet.expand(classifier().tree_, table())
        fitted = model(documents()[1], wiring=wiring)
        bare = report_payload(fitted)["units"]
        assert bare["label"] == [name for level in fitted.wiring_.names[1:] for name in level]
        assert (bare["share"], bare["features"]) == ([], [[]] * len(bare["label"]))
        payload = report_payload(fitted, table())
        assert payload["units"]["label"] == payload["trained"]["label"]

    def test_a_pruned_network_shows_the_latents_it_has(self) -> None:
        whole = classifier()
        fitted = model(documents()[1])
        fitted.prune(60, table())
        payload = report_payload(fitted)
        full = report_payload(whole)["units"]
        label = dict(zip(whole.tree_.latent_names, full["label"], strict=True))
        latents = [name for level in fitted.wiring_.names[1:] for name in level]
        assert 0 < len(latents) < len(label)
        assert payload["units"]["label"] == [label[name] for name in latents]


class TestOtherTargets:
    def test_two_classes_oppose_each_other(self) -> None:
        sport = np.where(documents()[1] == "sport", "yes", "no")
        payload = report_payload(model(sport), table(), sport)
        classes = payload["classes"]
        assert classes["names"] == ["no", "yes"]
        assert any(classes["of"])
        for flat in classes["of"]:
            effect = dict(pairs(flat))
            if effect:
                assert effect[0] == -effect[1]

    def test_labels(self) -> None:
        _, subjects = documents()
        labels = np.stack([subjects == "sport", subjects == "space"], axis=1).astype(float)
        labels[0] = np.nan
        fitted = model(labels)
        payload = report_payload(fitted, table(), labels)
        classes = payload["classes"]
        assert (classes["noun"][0], classes["names"]) == ("label", ["0", "1"])
        assert classes["counts"] == np.nansum(labels, axis=0).astype(int).tolist()
        assert payload["rows"]["truth"] == {}
        fitted.source_ = {"targets": ["is sport", "is space"], "columns": None}
        named = report_payload(fitted, table())["classes"]
        assert named["names"] == ["is sport", "is space"]
        assert named["counts"] is None

    def test_numbers(self) -> None:
        goals = np.asarray(table().values.sum(axis=1), np.float64)
        fitted = model(goals, tsenet.TSENetRegressor)
        payload = report_payload(fitted, table(), goals)
        assert payload["kind"] == "regressor"
        classes = payload["classes"]
        assert (classes["names"], classes["counts"]) == (["output"], None)
        assert "R² on these rows" in dict(payload["data"])
        rows = payload["rows"]
        row, value = next(iter(rows["predicted"].items()))
        predicted = fitted.predict(table())[int(row)]
        assert float(value) == pytest.approx(predicted, rel=1e-3)


def test_texts_are_cut_between_words() -> None:
    long = "word\n" * 100
    rows = report_payload(tree(), table(), texts=[long] * 240)["rows"]
    assert set(rows["texts"].values()) == {"word " * 63 + "word …"}


def test_an_excerpt_is_where_the_words_of_the_topic_are() -> None:
    long = " ".join(["other"] * 100)
    texts = [f"{long} {text.upper()} {long}" for text in documents()[0]]
    payload = report_payload(tree(), table(), texts=texts)
    n_inputs, units, rows = payload["layers"][0], payload["units"], payload["rows"]
    assert n_inputs
    for flat, features in zip(rows["of"], units["features"], strict=True):
        words = {payload["names"][node] for node, *_ in pairs(features, 4)}
        for row, _ in pairs(flat):
            shown = rows["texts"][str(row)]
            assert words & set(shown.lower().split())
            assert shown.startswith("… ")
            assert len(shown) <= 320 + 4


class TestComputedBefore:
    """Topics to show, and what was computed of them in the rows."""

    def test_strengths_that_are_known_are_not_computed_again(self, topics: Payload) -> None:
        texts, subjects = documents()
        strengths = tree_strengths(tree(), tree().binary(table()))
        payload = report_payload(
            *(tree(), table()),
            texts=texts,
            along=subjects,
            along_name="subject",
            strengths=strengths,
        )
        for key in ("units", "rows", "along"):
            assert payload[key] == topics[key]

    def test_only_the_topics_asked_for(self) -> None:
        shown = view_topics(topic_tree(tree(), table()), min_size=0.36)
        names = {topic.name for topic in every_topic(shown.topics)}
        assert 0 < len(names) < tree().n_latents
        payload = report_payload(tree(), table(), topics=shown.topics)
        n_inputs = payload["layers"][0]
        assert set(payload["names"][n_inputs:]) == names
        number = {name: node for node, name in enumerate(payload["names"])}
        for topic in every_topic(shown.topics):
            k = number[topic.name] - n_inputs
            assert payload["units"]["label"][k] == topic.title
            for child in topic.children:
                assert payload["parent"][number[child.name]] == number[topic.name]
        whole = report_payload(tree(), table())["rows"]["of"]
        for name in names:
            flat = payload["rows"]["of"][number[name] - n_inputs]
            assert flat == whole[tree().latent_names.index(name)]


class TestKinship:
    """How strongly topics are tied to their parents: for models that tell it."""

    def test_is_that_of_the_table_of_topics(self, network: Payload, topics: Payload) -> None:
        texts, _ = documents()
        model = tsenet.TopicModel(levels=(2, 5), random_state=0).fit(texts)
        kinship = model._hierarchy.kinship
        payload = report_payload(
            *(model, None),
            description=model._description,
            topics=model.view_.topics,
            kinship=kinship,
        )
        n_inputs = payload["layers"][0]
        found = dict(zip(payload["names"][n_inputs:], payload["units"]["kinship"], strict=True))
        table_of_topics = model.topics_.set_index("id")
        has_parent = table_of_topics["parent"].notna()
        assert has_parent.any()
        assert not has_parent.all()
        for name, value in found.items():
            if has_parent[name]:
                assert value == pytest.approx(table_of_topics["kinship"][name], rel=5e-3)
            else:
                assert value is None
        assert network["units"]["kinship"] == topics["units"]["kinship"] == []

    def test_is_not_that_with_a_parent_that_is_not_the_own(self) -> None:
        whole = topic_tree(tree(), table())
        nested = next(topic for topic in whole if topic.children)
        child = nested.children[0]
        alone = [*(topic for topic in whole if topic is not nested), child]
        payload = report_payload(tree(), topics=alone, kinship=np.full(tree().n_latents, 0.5))
        number = {name: k for k, name in enumerate(payload["names"][payload["layers"][0] :])}
        assert payload["units"]["kinship"][number[child.name]] is None

    def test_must_have_a_finite_number_for_each_topic(self) -> None:
        with pytest.raises(DataError, match="kinship must have a number for each"):
            report_payload(tree(), kinship=[0.5])
        values = np.full(tree().n_latents, 0.5)
        values[1] = np.nan
        with pytest.raises(DataError, match="kinship must be finite: it is not for topic 1"):
            report_payload(tree(), kinship=values)
        with pytest.raises(DataError, match="kinship is that of topics"):
            report_payload(classifier(), kinship=values)


class TestRefusals:
    def test_lengths_must_agree(self) -> None:
        texts, subjects = documents()
        for given in ({"texts": texts[:-1]}, {"y": subjects[:-1]}, {"along": [1]}):
            with pytest.raises(DataError, match="X has 240 rows"):
                report_payload(tree(), table(), **given)  # type: ignore[arg-type]  # of mixed kinds

    def test_texts_need_rows(self) -> None:
        with pytest.raises(DataError, match="texts belongs to rows"):
            report_payload(tree(), texts=["a"])

    def test_along_is_for_trees(self) -> None:
        with pytest.raises(DataError, match="along shows the topics of a tree"):
            report_payload(classifier(), table(), along=documents()[1])

    @pytest.mark.parametrize("name", ["n_features", "n_rows"])
    def test_options_must_be_positive(self, name: str) -> None:
        with pytest.raises(DataError, match=name):
            report_payload(tree(), **{name: 0})


def test_a_latent_of_several_units_is_one_node() -> None:
    model = fitted(units_per_latent=2)
    X = dense_rows()
    payload = report_payload(model, X, targets("classes", X))
    n_nodes = sum(model.wiring_.layer_sizes)
    assert len(payload["names"]) == len(payload["parent"]) == n_nodes
    assert len(payload["trained"]["label"]) == n_nodes - model.wiring_.layer_sizes[0]
    layer, links = next(iter(model.net_.layers)), model.wiring_.layers[0]
    full = layer.dense_weight().detach().numpy()
    for u in range(links.n_upper):
        for e in range(links.indptr[u], links.indptr[u + 1]):
            if links.from_tree[e]:  # the strongest weight of the block stands for the link
                block = full[2 * u : 2 * u + 2, links.indices[e]]
                shown = payload["strength"][links.indices[e]]
                assert abs(shown) == pytest.approx(np.abs(block).max(), rel=1e-2)
