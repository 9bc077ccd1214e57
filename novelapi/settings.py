"""The only module that reads the environment (and a `.env` file in the working directory)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """What the environment says; `.env.example` documents every name."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", frozen=True)

    home: Path = Field(default=Path("data"), validation_alias="NOVELAPI_HOME")
    """Folder of everything that is generated (`NOVELAPI_HOME`, default `./data`)."""

    envs: Path | None = Field(default=None, validation_alias=AliasChoices("NOVELAPI_ENVS", "NOVEL_API_TEMP_ENV_DIR"))
    """Folder of the environments of the libraries under test; default `<home>/envs`."""

    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    """Key of an OpenAI-compatible endpoint; many local servers need none."""

    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    """Address of an OpenAI-compatible endpoint, with `/v1`."""

    github_token: SecretStr | None = Field(default=None, validation_alias="GITHUB_TOKEN")
    """Used only where a changelog is fetched from a forge; never needed."""

    hf_home: Path | None = Field(default=None, validation_alias="HF_HOME")
    """Where Hugging Face libraries keep models."""

    index_url: str | None = Field(
        default=None, validation_alias=AliasChoices("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
    )
    """Simple-API address of the package index, as the installers read it; default: the installers' own default."""

    find_links: str | None = Field(default=None, validation_alias=AliasChoices("UV_FIND_LINKS", "PIP_FIND_LINKS"))
    """Folder or page with further wheels, as the installers read it."""

    pip_config_file: Path | None = Field(default=None, validation_alias="PIP_CONFIG_FILE")
    """pip's own configuration file, if moved."""

    suite_data: Path | None = Field(default=None, validation_alias="NOVELAPI_SUITE_DATA")
    """Folder of the data of outside suites, one folder each; `evaluate --suite` reads it."""

    prefect_api_url: str | None = Field(default=None, validation_alias="PREFECT_API_URL")
    """A Prefect server that already runs; without it a local one is started."""

    serve: str | None = Field(default=None, validation_alias="NOVELAPI_SERVE")
    """The model server that a flow run in a container starts for itself, as JSON; set by its job variables."""

    worker_flow_run: str | None = Field(default=None, validation_alias="PREFECT__FLOW_RUN_ID")
    """The flow run that this process was started for by a Prefect worker; set by Prefect."""

    @property
    def envs_dir(self) -> Path:
        """Folder of the environments, absolute."""
        return (self.envs or self.home / "envs").expanduser().absolute()

    @property
    def home_dir(self) -> Path:
        """Folder of everything that is generated, absolute."""
        return self.home.expanduser().absolute()


@lru_cache(maxsize=1)
def load_settings() -> Settings:
    """Read the environment once per process."""
    return Settings()
