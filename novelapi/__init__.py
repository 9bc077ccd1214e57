"""NovelAPIBench on Prefect: which APIs are new to a model, and which knowledge closes which failure."""

__version__ = "0.1.0"
