import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isAlive, processesOf } from '../machine/process-tree.mjs'

const UPSTREAM = fileURLToPath(new URL('../servers/upstream.mjs', import.meta.url))

/** What all gateways of a run share: the server behind them, a folder, and the list of what has to be ended. */
export async function openWorld() {
  const child = spawn(process.execPath, [UPSTREAM, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  const port = Number(line)
  const world = {
    folder: mkdtempSync(join(tmpdir(), 'sallyport-bench-')),
    running: new Set(),
    upstream: {
      pid: child.pid,
      url: (toolCount) => `http://127.0.0.1:${port}/t/${toolCount}/mcp`,
      command: (toolCount) => [process.execPath, UPSTREAM, 'stdio', String(toolCount)],
    },
  }
  adopt(world, child)
  return world
}

/** Remembers a process until it has ended: after that its pid may be reused. */
export function adopt({ running }, child) {
  running.add(child)
  child.once('exit', () => running.delete(child)).once('error', () => running.delete(child))
  return child.pid
}

/** Ends whatever a failure left running. It does not wait: there may be no time. */
export function closeWorld({ folder, running }) {
  const left = [...running].flatMap(({ pid }) => {
    const { own, upstream } = processesOf(pid)
    return [...own, ...upstream]
  })
  for (const pid of left.filter(isAlive)) process.kill(pid, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
