"""The mechanisms, one file each: whole numbers in, private whole numbers out."""

from tacit.mechanisms.above_threshold import AboveThreshold
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.gradual_release import GradualRelease
from tacit.mechanisms.grid import on_grid
from tacit.mechanisms.kary_response import KaryResponse
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.noisy_max import NoisyMax
from tacit.mechanisms.permute_and_flip import PermuteAndFlip
from tacit.mechanisms.randomised_response import RandomisedResponse
from tacit.mechanisms.thresholdout import Thresholdout

__all__ = [
    "AboveThreshold",
    "Exponential",
    "Gaussian",
    "GradualRelease",
    "KaryResponse",
    "Laplace",
    "NoisyMax",
    "PermuteAndFlip",
    "RandomisedResponse",
    "Thresholdout",
    "on_grid",
]
