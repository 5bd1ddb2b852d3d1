"""Learning from people without remembering them: private models, a holdout that can be asked again and again.

from tacit.learn import AdditiveClassifier

model = AdditiveClassifier(epsilon=1, delta=1e-6, features={"age": (17, 90), "sex": ["Female", "Male"]}, classes=[0, 1])
model.fit(rows, target).predict_proba(others)
"""

from tacit.learn.accuracy import AccuracyFirst, accuracy_first
from tacit.learn.additive import AdditiveClassifier
from tacit.learn.bayes import NaiveBayesClassifier
from tacit.learn.bayes_gaussian import GaussianBayesClassifier
from tacit.learn.clusters import KMeansClusters
from tacit.learn.comparing import (
    HypothesisTest,
    NoisyTable,
    compare_means,
    compare_proportions,
    correlation,
    independence,
    measure_counts,
)
from tacit.learn.components import PrincipalComponents
from tacit.learn.discoveries import benjamini_hochberg, benjamini_yekutieli
from tacit.learn.holdout import HoldoutAnswer, HoldoutWarning, ReusableHoldout
from tacit.learn.holdout_gaussian import GaussianHoldout
from tacit.learn.ladder import Ladder
from tacit.learn.logistic import LogisticClassifier
from tacit.learn.neighbours import NeighbourVotesClassifier
from tacit.learn.network import NetworkClassifier
from tacit.learn.ridge import RidgeRegressor
from tacit.learn.saving import load_model, save_model
from tacit.learn.searching import PrivateSearch
from tacit.learn.trees import TreeClassifier

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
