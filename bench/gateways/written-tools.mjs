import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const TIMEOUT_MS = 30_000
const PAUSE = 50

/** The tools.yaml of a home, once the gateway has written this many tools into it: it does so after the first list. */
export async function writtenTools(folder, toolCount) {
  const path = join(folder, 'tools.yaml')
  for (const until = performance.now() + TIMEOUT_MS; performance.now() < until; await delay(PAUSE))
    if (existsSync(path) && pinsIn(path) >= toolCount) return path
  throw new Error(`tools.yaml does not name all ${toolCount} tools`)
}

const pinsIn = (path) => readFileSync(path, 'utf8').split('\n    pin: ').length - 1
