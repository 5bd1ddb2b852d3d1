"""Heatmaps: private counts on an adaptive grid, and what they do not hide."""

from tacit.release.maps.heatmap import Heatmap, drawable
from tacit.release.maps.page import MapSquare
from tacit.release.maps.request import HeatmapRequest

__all__ = ["Heatmap", "HeatmapRequest", "MapSquare", "drawable"]
