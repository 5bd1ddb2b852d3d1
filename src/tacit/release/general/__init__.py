"""General release: a small database, or a public hypothesis, that answers a whole class of counting queries."""

from tacit.release.general.mwem import Mwem
from tacit.release.general.net import NetMechanism
from tacit.release.general.online import OnlineAnswer, OnlineWeights
from tacit.release.general.workload import OnlineWorkload, WorkloadAnswer, WorkloadRequest

__all__ = [
    "Mwem",
    "NetMechanism",
    "OnlineAnswer",
    "OnlineWeights",
    "OnlineWorkload",
    "WorkloadAnswer",
    "WorkloadRequest",
]
