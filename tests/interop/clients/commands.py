"""How a client program is driven: as commands.mjs says."""

import asyncio
import json
import sys

NAME = {"name": "Ada"}


def put(message) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def plain(model):
    """A model of an SDK as JSON."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def obey(verbs) -> None:
    running = {}
    loop = asyncio.get_running_loop()
    put({"event": "ready"})

    async def run(command) -> None:
        try:
            put({"id": command["id"], "result": await verbs[command["do"]](command)})
        except asyncio.CancelledError:
            put({"id": command["id"], "error": "cancelled"})
        except Exception as error:
            put({"id": command["id"], "error": f"{type(error).__name__}: {error}"})

    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        if command["do"] == "cancel":
            running[command["of"]].cancel()
        else:
            running[command["id"]] = asyncio.create_task(run(command))
    for task in running.values():
        task.cancel()
