"""Methods and settings as people write them."""

import pytest

from kedge import baselines
from kedge.comparison import MethodChoice, known_methods, read_methods


def test_settings_follow_the_method_they_belong_to():
    first, second, third = read_methods("sgl:alpha=0.1,n_anchors=50, kmeans ,LSC:scale=l2")
    assert (first.name, first.settings) == ("sgl", {"alpha": 0.1, "n_anchors": 50})
    assert (second.name, second.settings) == ("kmeans", {})
    assert (third.name, third.settings) == ("lsc", {"scale": "l2"})
    assert str(first) == "sgl:alpha=0.1,n_anchors=50"


def test_values_are_numbers_truths_and_words():
    (choice,) = read_methods("sgl:signed=True,n_jobs=None,tol=1e-3,alpha=auto,max_iter=7")
    assert choice.settings == {"signed": True, "n_jobs": None, "tol": 1e-3, "alpha": "auto", "max_iter": 7}


def test_a_list_and_a_text_name_the_same_methods():
    text, listed = read_methods("sgl:alpha=1,kmeans"), read_methods(["sgl:alpha=1", MethodChoice("kmeans")])
    assert text == listed


def test_every_baseline_can_be_named_once():
    names = known_methods()
    assert len(set(names)) == len(names)
    made = [
        type(choice.make(2, random_state=0, memory_limit=None)).__name__
        for choice in read_methods(names)
        if choice.name not in ("sgl", "msgl", "agglomerative")
    ]
    assert sorted(made) == sorted(method.name for method in baselines.available())


def test_the_number_of_clusters_reaches_the_estimator():
    one, several = read_methods("sgl,msgl:n_clusters=4")
    assert one.make("auto", random_state=0, memory_limit=None).n_clusters == "auto"
    assert several.make(3, random_state=0, memory_limit=None).n_clusters == 4


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("sgl,kmean", "no method 'kmean'; did you mean 'kmeans'"),
        ("alpha=3,sgl", "a setting without a method"),
        ("sgl:alpha", "is not a setting"),
        ("sgl:alpha=1,alpha=2", "sgl has alpha twice"),
        (" , ", "methods is empty"),
    ],
)
def test_what_cannot_be_read_is_said(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_methods(text)
