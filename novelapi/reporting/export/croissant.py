"""The description of a dataset in Croissant 1.0 with the fields of its responsible-AI extension."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from novelapi import __version__
from novelapi.records.base import Record
from novelapi.reporting.export.sources import Quoted

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "conformsTo": "dct:conformsTo",
    **{
        name: f"cr:{name}"
        for name in (
            "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet",
            "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
            "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField",
            "transform",
        )
    },
}  # fmt: skip
"""Names of the vocabulary (Croissant format specification 1.0, appendix 1)."""

RESPONSIBLE = {
    "rai:dataCollection": (
        "Built by programs from released packages: APIs by comparing two releases, tasks by shrinking and recombining "
        "documented calls. Every reference was executed in the new release and fails in the old one."
    ),
    "rai:dataCollectionType": ["Software Collection", "Secondary Data Analysis"],
    "rai:dataPreprocessingProtocol": "Answers were recorded from the reference under five hash seeds and had to agree.",
    "rai:dataAnnotationProtocol": "No annotators: labels, answers and gates are decided by execution.",
    "rai:dataLimitations": (
        "Tasks cover APIs that examples or arguments could be found for; behaviour that needs files, networks, "
        "displays or devices is missing. Descriptions written by programs are drier than people's."
    ),
    "rai:dataBiases": (
        "Python libraries only; well-documented APIs and functions over plain data and arrays are over-represented."
    ),
    "rai:personalSensitiveInformation": "None is collected; quoted documentation may name authors of the libraries.",
    "rai:dataUseCases": (
        "Measuring whether code models know APIs that are newer than they are, and which documentation helps. Not for "
        "judging people, and not for training models that are then measured with it."
    ),
    "rai:dataSocialImpact": "Running generated code is unsafe outside a sandbox; the tasks say nothing about people.",
    "rai:dataReleaseMaintenancePlan": "Rebuilt when a library is released anew; each file names the release.",
}


class DataFile(Record):
    """One parquet file of a dataset folder."""

    configuration: str
    """Name of its configuration."""

    path: str
    """Path inside the folder."""

    sha256: str
    """Digest of the file."""

    rows: int
    """Number of rows."""

    columns: dict[str, str]
    """Type by column: `text` or `boolean`."""


def croissant(name: str, files: Sequence[DataFile], quoted: Sequence[Quoted], published: date) -> dict[str, Any]:
    """Return the JSON-LD document that describes a dataset folder."""
    licences = sorted({entry.licence for entry in quoted})
    libraries = ", ".join(f"{entry.library} {entry.release} ({entry.licence})" for entry in quoted)
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": name,
        "description": (
            "Coding tasks about Python APIs that are newer than a model, with executed references. "
            f"Quoted libraries: {libraries}."
        ),
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "citeAs": f"NovelAPIBench on Prefect {__version__}",
        "license": [f"https://spdx.org/licenses/{licence}.html" for licence in ["Apache-2.0", *licences]],
        "url": f"urn:novelapi:{name}",
        "version": __version__,
        "datePublished": published.isoformat(),
        "isLiveDataset": False,
        **RESPONSIBLE,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file.path,
                "name": file.path,
                "contentUrl": file.path,
                "encodingFormat": "application/x-parquet",
                "sha256": file.sha256,
            }
            for file in files
        ],
        "recordSet": [_records(file) for file in files],
    }


def _records(file: DataFile) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": file.configuration,
        "name": file.configuration,
        "description": f"{file.rows} rows.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{file.configuration}/{column}",
                "name": f"{file.configuration}/{column}",
                "dataType": "sc:Boolean" if kind == "boolean" else "sc:Text",
                "source": {"fileObject": {"@id": file.path}, "extract": {"column": column}},
            }
            for column, kind in file.columns.items()
        ],
    }
