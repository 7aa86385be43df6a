"""A server of the FastMCP 4.x, which speaks both eras, as its documentation shows: fastmcp4.py <stdio|http>."""

import asyncio
import base64
import socket
import sys

import anyio
from fastmcp import Context, FastMCP
from fastmcp.tools import Tool
from fastmcp.utilities.types import Image
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


mcp = FastMCP("interop-fastmcp4")
state = {"waiting": 0, "cancelled": 0}


class Weather(BaseModel):
    city: str
    degrees: float


class Name(BaseModel):
    name: str


@mcp.tool
def echo(text: str) -> str:
    """Returns its text."""
    return text


@mcp.tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@mcp.tool
def weather(city: str) -> Weather:
    """The weather of a city."""
    return Weather(city=city, degrees=21.5)


@mcp.tool
def picture() -> Image:
    """A picture."""
    return Image(data=base64.b64decode(PICTURE), format="png")


@mcp.tool
def fail(reason: str) -> str:
    """Fails."""
    raise ValueError(reason)


@mcp.tool
async def count(steps: int, ctx: Context) -> str:
    """Reports progress."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
        await asyncio.sleep(0.03)
    return "counted"


@mcp.tool
async def log(ctx: Context) -> str:
    """Logs."""
    await ctx.info("an info message")
    await ctx.warning("a warning message")
    await asyncio.sleep(0.05)
    return "logged"


@mcp.tool
async def wait() -> str:
    """Waits until it is cancelled."""
    state["waiting"] += 1
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        state["cancelled"] += 1
        raise
    finally:
        state["waiting"] -= 1
    return "never"


@mcp.tool
def status() -> str:
    """Who waits, and who was cancelled."""
    return f"waiting {state['waiting']}, cancelled {state['cancelled']}"


MODERN = "2026-07-28"
MESSAGE = SamplingMessage(role="user", content=TextContent(type="text", text="Say a number"))


def need(request) -> InputRequiredResult:
    return InputRequiredResult(input_requests={"answer": request})


@mcp.tool(output_schema=None)
async def ask(ctx: Context) -> str | InputRequiredResult:
    """Asks the user."""
    if ctx.input_responses:
        return f"hello {ctx.input_responses['answer'].content['name']}"
    if ctx.session.protocol_version >= MODERN:
        params = ElicitRequestFormParams(message="What is your name?", requested_schema=Name.model_json_schema())
        return need(ElicitRequest(params=params))
    result = await ctx.elicit("What is your name?", Name)
    return f"hello {result.data.name}" if result.action == "accept" else result.action


@mcp.tool(output_schema=None)
async def sample(ctx: Context) -> str | InputRequiredResult:
    """Asks the client's model."""
    if ctx.input_responses:
        return f"the model says {ctx.input_responses['answer'].content.text}"
    if ctx.session.protocol_version >= MODERN:
        return need(CreateMessageRequest(params=CreateMessageRequestParams(messages=[MESSAGE], max_tokens=10)))
    result = await ctx.session.create_message([MESSAGE], max_tokens=10)
    return f"the model says {result.content.text}"


@mcp.tool(output_schema=None)
async def roots(ctx: Context) -> str | InputRequiredResult:
    """The client's roots."""
    if not ctx.input_responses and ctx.session.protocol_version >= MODERN:
        return need(ListRootsRequest())
    result = ctx.input_responses["answer"] if ctx.input_responses else await ctx.session.list_roots()
    return ",".join(str(root.uri) for root in result.roots)


@mcp.tool
async def ask_at_once(ctx: Context) -> str:
    """Asks the user, and waits for the answer in the handler."""
    result = await ctx.elicit("What is your name?", Name)
    return f"hello {result.data.name}" if result.action == "accept" else result.action


@mcp.tool
def big(size: int) -> str:
    """A large text."""
    return "0123456789" * (size // 10)


@mcp.tool
async def slow_echo(text: str) -> str:
    """Returns its text later."""
    await asyncio.sleep(0.1)
    return text


@mcp.tool
async def touch(ctx: Context) -> str:
    """Changes the first note."""
    await ctx.session.send_resource_updated("note://first")
    return "touched"


@mcp.tool
async def grow(ctx: Context) -> str:
    """Adds a tool."""

    def extra() -> str:
        """Another tool."""
        return "extra"

    mcp.add_tool(Tool.from_function(extra))
    await ctx.session.send_tool_list_changed()
    return "grown"


@mcp.resource("note://first", mime_type="text/plain")
def first() -> str:
    return "the first note"


@mcp.resource("data://bytes", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    return bytes([0, 1, 2, 255])


@mcp.resource("item://{id}", mime_type="text/plain")
def item(id: str) -> str:
    return f"item {id}"


@mcp.prompt
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Greet {name}"


@mcp.completion
async def complete(ref, argument, context):
    names = [name for name in ("Ada", "Alan", "Grace") if name.startswith(argument.value)]
    return names


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        mcp.run(show_banner=False)
    else:
        # The port is free until the server listens on it: whoever connects tries again.
        port = free_port()
        print(f"http://127.0.0.1:{port}/mcp", flush=True)
        mcp.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
