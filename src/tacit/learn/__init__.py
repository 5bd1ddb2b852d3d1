"""Learning from people without remembering them: private models, a holdout that can be asked again and again.

from tacit.learn import AdditiveClassifier

model = AdditiveClassifier(epsilon=1, delta=1e-6, features={"age": (17, 90), "sex": ["Female", "Male"]}, classes=[0, 1])
model.fit(rows, target).predict_proba(others)
"""

from tacit.learn.accuracy.first import AccuracyFirst, accuracy_first
from tacit.learn.classifiers.additive import AdditiveClassifier
from tacit.learn.classifiers.bayes import NaiveBayesClassifier
from tacit.learn.classifiers.bayes_gaussian import GaussianBayesClassifier
from tacit.learn.classifiers.logistic import LogisticClassifier
from tacit.learn.classifiers.neighbours import NeighbourVotesClassifier
from tacit.learn.classifiers.trees import TreeClassifier
from tacit.learn.holdout.gaussian import GaussianHoldout
from tacit.learn.holdout.ladder import Ladder
from tacit.learn.holdout.reusable import HoldoutAnswer, HoldoutWarning, ReusableHoldout
from tacit.learn.hypotheses.comparing import (
    HypothesisTest,
    NoisyTable,
    compare_means,
    compare_proportions,
    correlation,
    independence,
    measure_counts,
)
from tacit.learn.hypotheses.discoveries import benjamini_hochberg, benjamini_yekutieli
from tacit.learn.networks.network import NetworkClassifier
from tacit.learn.regression.ridge import RidgeRegressor
from tacit.learn.saving import load_model, save_model
from tacit.learn.searching import PrivateSearch
from tacit.learn.unsupervised.clusters import KMeansClusters
from tacit.learn.unsupervised.components import PrincipalComponents

__all__ = [
    "AccuracyFirst",
    "AdditiveClassifier",
    "GaussianBayesClassifier",
    "GaussianHoldout",
    "HoldoutAnswer",
    "HoldoutWarning",
    "HypothesisTest",
    "KMeansClusters",
    "Ladder",
    "LogisticClassifier",
    "NaiveBayesClassifier",
    "NeighbourVotesClassifier",
    "NetworkClassifier",
    "NoisyTable",
    "PrincipalComponents",
    "PrivateSearch",
    "ReusableHoldout",
    "RidgeRegressor",
    "TreeClassifier",
    "accuracy_first",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "compare_means",
    "compare_proportions",
    "correlation",
    "independence",
    "load_model",
    "measure_counts",
    "save_model",
]
