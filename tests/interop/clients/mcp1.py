"""A client of the Python SDK 1.x: mcp1.py <target as JSON>."""

import asyncio
import json
import sys

from commands import NAME, obey, plain, put
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

target = json.loads(sys.argv[1])


async def elicit(_context, params):
    put({"event": "asked", "method": "elicitation/create", "params": plain(params)})
    return types.ElicitResult(action="accept", content=NAME)


async def sample(_context, params):
    put({"event": "asked", "method": "sampling/createMessage", "params": plain(params)})
    text = types.TextContent(type="text", text="forty-two")
    return types.CreateMessageResult(role="assistant", model="scripted", content=text)


async def roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///somewhere", name="somewhere")])


async def log(params):
    put({"event": "log", "params": plain(params)})


async def hear(message):
    notice = getattr(message, "root", None)
    if isinstance(notice, types.ResourceUpdatedNotification):
        put({"event": "updated", "params": plain(notice.params)})
    if isinstance(notice, types.ToolListChangedNotification):
        put({"event": "tools changed"})


async def progress(done, total, message):
    put({"event": "progress", "params": {"progress": done, "total": total, "message": message}})


async def main():
    if "url" in target:
        transport = streamablehttp_client(target["url"])
    else:
        transport = stdio_client(StdioServerParameters(command=target["command"], args=target["args"]))
    async with transport as streams:
        handlers = {
            "sampling_callback": sample,
            "elicitation_callback": elicit,
            "list_roots_callback": roots,
            "logging_callback": log,
            "message_handler": hear,
        }
        async with ClientSession(streams[0], streams[1], **handlers) as session:
            await session.initialize()
            await obey(verbs(session))


def verbs(session):
    async def call(command):
        callback = progress if command.get("progress") else None
        return plain(await session.call_tool(command["name"], command["args"], progress_callback=callback))

    async def complete(command):
        ref = types.PromptReference(type="ref/prompt", name=command["name"])
        return plain(await session.complete(ref, command["argument"]))

    async def nothing(_command):
        return None

    def ask(method, *names):
        async def verb(command):
            return plain(await getattr(session, method)(*(command[name] for name in names)))

        return verb

    return {
        "call": call,
        "complete": complete,
        "watch": nothing,
        "listTools": ask("list_tools"),
        "listResources": ask("list_resources"),
        "listTemplates": ask("list_resource_templates"),
        "read": ask("read_resource", "uri"),
        "subscribe": ask("subscribe_resource", "uri"),
        "listPrompts": ask("list_prompts"),
        "getPrompt": ask("get_prompt", "name", "args"),
        "setLevel": ask("set_logging_level", "level"),
    }


asyncio.run(main())
