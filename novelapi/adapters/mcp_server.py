"""An MCP server over a context pack: two tools, `search_api` and `read_api`, on stdin and stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from novelapi.errors import PrerequisiteError, UnknownNameError
from novelapi.packing.lookup import PackIndex
from novelapi.packing.write import effect_text
from novelapi.records.pack import Pack

if TYPE_CHECKING:
    from mcp.server import MCPServer

FOUND = 5


def make_server(pack: Pack) -> MCPServer:
    """Return the server of a pack.

    Raises:
        PrerequisiteError: the extra `mcp` is missing.
    """
    try:
        from mcp.server import MCPServer  # noqa: PLC0415 - an extra
        from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415
    except ImportError as error:
        raise PrerequisiteError("the MCP SDK is missing: pip install 'novelapi[mcp]'") from error
    index = PackIndex(pack)
    about = f"What is new in {pack.library}. {effect_text(pack)}"
    server = MCPServer(f"novelapi-{pack.library}", instructions=about, log_level="ERROR")

    @server.tool()
    def search_api(query: str, limit: int = FOUND) -> list[dict[str, str]]:
        """Find new or changed APIs of the library by name or by what they do; read the best with read_api."""
        return [{"api": item.api, "summary": index.summary(item)} for item in index.search(query, limit)]

    @server.tool()
    def read_api(api: str) -> str:
        """Read what there is to know about one API: parameters, examples or source, as measured to help."""
        try:
            return index.read(api).text
        except UnknownNameError as error:
            raise ToolError(str(error)) from error

    assert callable(search_api)
    assert callable(read_api)
    return server


def serve(pack: Pack) -> None:
    """Serve a pack until stdin is closed.

    Raises:
        PrerequisiteError: the extra `mcp` is missing.
    """
    make_server(pack).run("stdio")
