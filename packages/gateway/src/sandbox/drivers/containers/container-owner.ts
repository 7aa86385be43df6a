import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/core'
import type { Engine } from './engine.ts'
import { explainReply } from './engine-problems.ts'

/** Whose containers they are. An engine may serve many users and machines. */
export interface ContainerOwner {
  /** Of the state folder of the gateway; no other has it. */
  readonly state: string
  /** Of this run of the gateway: the mark of its processes. */
  readonly run: string
  /** Process id and start time of the gateway. */
  readonly process: string
}

const STATE_LABEL = 'sallyport.state'
const RUN_LABEL = 'sallyport.run'

export function labelsOf({ state, run, process }: ContainerOwner): Readonly<Record<string, string>> {
  return { [STATE_LABEL]: state, [RUN_LABEL]: run, 'sallyport.process': process }
}

const REMOVE_TIMEOUT_MS = 30_000
const POLL_MS = 50

/** Removes all containers with this label, running or not. Resolves when the engine knows none of them any more. */
export async function removeContainers(engine: Engine, label: string): Promise<number> {
  const deadline = performance.now() + REMOVE_TIMEOUT_MS
  const removed = new Set<string>()
  for (;;) {
    const ids = await listContainers(engine, label)
    if (ids.length === 0) return removed.size
    for (const id of ids) removed.add(id)
    const reply = await engine.run(['rm', '--force', '--volumes', ...ids])
    if (performance.now() > deadline)
      throw new SallyportError('SANDBOX_UNAVAILABLE', `Containers could not be removed: ${reply.stderr.trim()}`)
    // The engine may be removing one already, since it has ended.
    if (reply.code !== 0) await delay(POLL_MS)
  }
}

/** Removes what earlier runs of the gateway with this state left. There is only one at a time, so those are dead. */
export async function sweepContainers(engine: Engine, { state, run }: ContainerOwner): Promise<number> {
  const all = await listContainers(engine, `${STATE_LABEL}=${state}`)
  // In this order: this run may be creating some at the same time.
  const own = new Set(await listContainers(engine, `${RUN_LABEL}=${run}`))
  const left = all.filter((id) => !own.has(id))
  if (left.length > 0) await engine.run(['rm', '--force', '--volumes', ...left])
  return left.length
}

async function listContainers(engine: Engine, label: string): Promise<readonly string[]> {
  const reply = await engine.run(['ps', '--all', '--quiet', '--no-trunc', '--filter', `label=${label}`])
  if (reply.code === 0) return reply.stdout.split('\n').filter((line) => line !== '')
  const { reason, fix } = explainReply(engine.kind, reply)
  throw new SallyportError('SANDBOX_UNAVAILABLE', `Containers cannot be listed: ${reason}.`, { hint: fix })
}
