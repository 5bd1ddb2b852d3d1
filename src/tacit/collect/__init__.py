"""The local model: encoders that run on a device, estimators that run at home."""

from tacit.collect.attributes import EveryAttribute, OneAttribute
from tacit.collect.best import Option, ProtocolChoice, best
from tacit.collect.descriptions import describe, from_description, topic_of
from tacit.collect.estimates import Estimate
from tacit.collect.frequencies.direct import Direct
from tacit.collect.frequencies.hadamard import Hadamard
from tacit.collect.frequencies.local_hash import LocalHash
from tacit.collect.frequencies.projective import Projective
from tacit.collect.frequencies.subset import SubsetSelection
from tacit.collect.frequencies.supports import Support
from tacit.collect.frequencies.unary import Unary
from tacit.collect.memory import Device, RapporDevice
from tacit.collect.messages import VERSION, messages, open_messages
from tacit.collect.numbers.hybrid import Hybrid
from tacit.collect.numbers.local_laplace import LocalLaplace
from tacit.collect.numbers.one_bit import OneBit
from tacit.collect.numbers.piecewise import Piecewise
from tacit.collect.numbers.scale import Scale
from tacit.collect.numbers.square_wave import SquareWave
from tacit.collect.posteriors import Learnt, learnt
from tacit.collect.reports import Protocol, Tally
from tacit.collect.texts.decoding import Decoded, DecodedTexts, decode, discoveries
from tacit.collect.texts.prefix_tree import Hitter, PrefixTree, Round, number_to_text, text_to_number
from tacit.collect.texts.rappor import Rappor
from tacit.collect.texts.sketches import CountMeanSketch, HadamardSketch
from tacit.collect.trust import TrustGap, trust_gap

__all__ = [
    "VERSION",
    "CountMeanSketch",
    "Decoded",
    "DecodedTexts",
    "Device",
    "Direct",
    "Estimate",
    "EveryAttribute",
    "Hadamard",
    "HadamardSketch",
    "Hitter",
    "Hybrid",
    "Learnt",
    "LocalHash",
    "LocalLaplace",
    "OneAttribute",
    "OneBit",
    "Option",
    "Piecewise",
    "PrefixTree",
    "Projective",
    "Protocol",
    "ProtocolChoice",
    "Rappor",
    "RapporDevice",
    "Round",
    "Scale",
    "SquareWave",
    "SubsetSelection",
    "Support",
    "Tally",
    "TrustGap",
    "Unary",
    "best",
    "decode",
    "describe",
    "discoveries",
    "from_description",
    "learnt",
    "messages",
    "number_to_text",
    "open_messages",
    "text_to_number",
    "topic_of",
    "trust_gap",
]
