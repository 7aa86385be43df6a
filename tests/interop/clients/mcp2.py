"""A client of the Python SDK 2.x, in the era that the target names: mcp2.py <target as JSON>."""

import asyncio
import json
import sys

from commands import NAME, obey, plain, put
from mcp import Client, StdioServerParameters, types

target = json.loads(sys.argv[1])
IS_MODERN = target["era"] == "modern"


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
    # The SDK hands the same changes to those who listen, see below.
    if IS_MODERN:
        return
    notice = getattr(message, "root", message)
    if isinstance(notice, types.ResourceUpdatedNotification):
        put({"event": "updated", "params": plain(notice.params)})
    if isinstance(notice, types.ToolListChangedNotification):
        put({"event": "tools changed"})


async def progress(done, total, message):
    put({"event": "progress", "params": {"progress": done, "total": total, "message": message}})


async def main():
    server = target.get("url") or StdioServerParameters(command=target["command"], args=target["args"])
    handlers = {
        "sampling_callback": sample,
        "elicitation_callback": elicit,
        "list_roots_callback": roots,
        "logging_callback": log,
        "message_handler": hear,
    }
    mode = "2026-07-28" if IS_MODERN else "legacy"
    async with Client(server, mode=mode, log_level="info", cache=None, **handlers) as client:
        await obey(verbs(client))


async def listen(session, **wanted):
    """Reports the events of a subscription of the modern era until the client ends."""
    ready = asyncio.Event()

    async def follow():
        async with session.listen(**wanted) as events:
            ready.set()
            async for event in events:
                if hasattr(event, "uri"):
                    put({"event": "updated", "params": {"uri": str(event.uri)}})
                else:
                    put({"event": "tools changed"})

    following = asyncio.create_task(follow())
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait([following, waiting], return_when=asyncio.FIRST_COMPLETED)
    if following.done():
        following.result()


def verbs(session):
    async def call(command):
        callback = progress if command.get("progress") else None
        return plain(await session.call_tool(command["name"], command["args"], progress_callback=callback))

    async def complete(command):
        ref = types.PromptReference(type="ref/prompt", name=command["name"])
        return plain(await session.complete(ref, command["argument"]))

    async def watch(_command):
        if IS_MODERN:
            await listen(session, tools_list_changed=True)

    async def subscribe(command):
        if IS_MODERN:
            await listen(session, resource_subscriptions=[command["uri"]])
        else:
            await session.subscribe_resource(command["uri"])

    async def set_level(command):
        if not IS_MODERN:
            await session.set_logging_level(command["level"])

    def ask(method, *names):
        async def verb(command):
            return plain(await getattr(session, method)(*(command[name] for name in names)))

        return verb

    return {
        "call": call,
        "complete": complete,
        "watch": watch,
        "listTools": ask("list_tools"),
        "listResources": ask("list_resources"),
        "listTemplates": ask("list_resource_templates"),
        "read": ask("read_resource", "uri"),
        "subscribe": subscribe,
        "listPrompts": ask("list_prompts"),
        "getPrompt": ask("get_prompt", "name", "args"),
        "setLevel": set_level,
    }


asyncio.run(main())
