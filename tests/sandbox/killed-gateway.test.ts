import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { eventually } from '../harness/processes.ts'
import { makePlace, REPOSITORY, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { callInSession } from './call-in-session.ts'
import { canSandbox } from './sandbox-world.ts'

const SANDBOXES = 20
const SERVER = join(REPOSITORY, 'tests/fixtures/leaking-server.mjs')

/** The processes that a process has started, and theirs, each with its start time: a number may be used again. */
function findDescendants(root: number): readonly string[] {
  const parents = new Map(listProcesses().map(([pid, parent, started]) => [pid, { parent, name: `${pid} ${started}` }]))
  const isBelow = (pid: string): boolean => {
    const parent = parents.get(pid)?.parent
    return parent !== undefined && (parent === String(root) || isBelow(parent))
  }
  return [...parents].flatMap(([pid, { name }]) => (isBelow(pid) ? [name] : []))
}

function listProcesses(): readonly (readonly [pid: string, parent: string, started: string])[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      // A zombie has ended already.
      return fields[0] === 'Z' ? [] : [[pid, fields[1] ?? '', fields[19] ?? '']]
    } catch {
      return []
    }
  })
}

const listMounts = (): readonly string[] =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes('sallyport-sandbox-'))

describe.skipIf(!canSandbox())(`kill -9 of a gateway with ${SANDBOXES} sandboxes (${promise('SEN-14')})`, () => {
  it('leaves no process, no mount and no folder', async () => {
    const place = makePlace()
    const temporary = join(place.home, 'tmp')
    mkdirSync(temporary)
    const folder = Buffer.byteLength(temporary) > 60 ? tmpdir() : temporary
    const before = new Set(readdirSync(folder))
    const server = { command: process.execPath, args: [SERVER, 'leaking'], sandbox: 'auto' }
    place.writeConfig({ mcp_servers: { leaking: server } })
    const gateway = await runGateway({ place, args: [], env: { TMPDIR: temporary } })
    const call = async (session: number): Promise<void> => {
      expect(await callInSession(gateway, { session: `s-${session}`, tool: 'leaking_count' })).toBe('count 1')
    }
    // One more serves no session.
    for (let session = 0; session < SANDBOXES - 1; session++) await call(session)
    const started = findDescendants(gateway.child.pid ?? 0)
    // bubblewrap, its init, the bridge and the program.
    expect(started.length).toBeGreaterThanOrEqual(SANDBOXES * 4)
    const begun = performance.now()
    gateway.child.kill('SIGKILL')
    await once(gateway.child, 'exit')
    await eventually(
      () => new Set(listProcesses().map(([pid, , began]) => `${pid} ${began}`)),
      (alive) => !started.some((name) => alive.has(name)),
    )
    const ms = Math.round(performance.now() - begun)
    console.log(`${started.length} processes of ${SANDBOXES} sandboxes had ended ${ms} ms after the gateway was killed`)
    expect(listMounts()).toEqual([])
    const left = readdirSync(folder).filter((name) => name.startsWith('sallyport-sandbox-') && !before.has(name))
    expect(left).toEqual([])
    place.remove()
  })
})
