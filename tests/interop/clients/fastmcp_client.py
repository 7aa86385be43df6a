"""A client of FastMCP 2.x or 4.x, in the era that the target names: fastmcp_client.py <target as JSON>."""

import asyncio
import json
import sys

from commands import NAME, obey, plain, put
from fastmcp import Client, __version__
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import types

target = json.loads(sys.argv[1])
IS_OLD = __version__.startswith("2.")


async def elicit(_message, _response_type, params, _context):
    put({"event": "asked", "method": "elicitation/create", "params": plain(params)})
    return NAME


async def sample(_messages, params, _context):
    put({"event": "asked", "method": "sampling/createMessage", "params": plain(params)})
    return "forty-two"


async def log(params):
    put({"event": "log", "params": plain(params)})


async def hear(message):
    notice = getattr(message, "root", message)
    if isinstance(notice, types.ResourceUpdatedNotification):
        put({"event": "updated", "params": plain(notice.params)})
    if isinstance(notice, types.ToolListChangedNotification):
        put({"event": "tools changed"})


async def progress(done, total, message):
    put({"event": "progress", "params": {"progress": done, "total": total, "message": message}})


async def main():
    if "url" in target:
        transport = StreamableHttpTransport(target["url"])
    else:
        transport = StdioTransport(target["command"], target["args"], keep_alive=False)
    handlers = {
        "sampling_handler": sample,
        "elicitation_handler": elicit,
        "roots": ["file:///somewhere"],
        "log_handler": log,
        "message_handler": hear,
        "progress_handler": progress,
    }
    era = {} if IS_OLD else {"mode": "2026-07-28" if target["era"] == "modern" else "legacy"}
    async with Client(transport, **handlers, **era) as client:
        await obey(verbs(client))


def verbs(session):
    async def call(command):
        """Returns what FastMCP makes of the result too: 5, and not {"result": 5}."""
        result = await session.call_tool(command["name"], command["args"], raise_on_error=False)
        raw = {"content": [plain(one) for one in result.content], "isError": result.is_error}
        data = result.data if isinstance(result.data, (int, str, type(None))) else str(result.data)
        return {**raw, "structuredContent": result.structured_content, "data": data, "meta": result.meta}

    async def complete(command):
        ref = types.PromptReference(type="ref/prompt", name=command["name"])
        return {"completion": plain(await session.complete(ref, command["argument"]))}

    async def nothing(_command):
        return None

    def listing(method, key):
        async def verb(_command):
            return {key: [plain(one) for one in await getattr(session, method)()]}

        return verb

    async def read(command):
        return {"contents": [plain(one) for one in await session.read_resource(command["uri"])]}

    async def get_prompt(command):
        return plain(await session.get_prompt(command["name"], command["args"]))

    async def subscribe(command):
        await session.session.subscribe_resource(command["uri"])

    async def set_level(command):
        await session.set_logging_level(command["level"])

    return {
        "call": call,
        "complete": complete,
        "watch": nothing,
        "listTools": listing("list_tools", "tools"),
        "listResources": listing("list_resources", "resources"),
        "listTemplates": listing("list_resource_templates", "resourceTemplates"),
        "read": read,
        "subscribe": subscribe,
        "listPrompts": listing("list_prompts", "prompts"),
        "getPrompt": get_prompt,
        "setLevel": set_level,
    }


asyncio.run(main())
