import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { loadConfig } from '../config/home/home.test-kit.ts'
import { openStore } from '../store/store.ts'
import type { GatewayParts } from './gateway.ts'
import { openGateway } from './open-gateway.ts'

const SERVER = 'mcp_servers: { never: { command: sallyport-no-such-program } }'

async function parts(): Promise<GatewayParts> {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-open-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const state = join(root, 'state')
  mkdirSync(state, { mode: 0o700 })
  const store = openStore({ state, durability: 'process' })
  const { PATH } = process.env
  const home = { path: root, origin: 'flag' } as const
  return { home, state, store, loaded: await loadConfig(SERVER), environment: { PATH }, onWarning: () => {} }
}

/** The child processes of this process, as the kernel lists them. */
const children = (): readonly string[] =>
  readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  )

const isClosed = ({ store }: GatewayParts): boolean => {
  try {
    store.log.append({ type: 'CONFIG_REJECTED', message: 'is it open?' })
    return false
  } catch {
    return true
  }
}

describe(`a gateway that cannot be opened (${promise('GW-6')})`, () => {
  it('closes everything that was opened before the failure', async () => {
    const blocked = await parts()
    const before = children()
    writeFileSync(join(blocked.state, 'tokens'), 'in the way')
    await expect(openGateway(blocked)).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
    expect(children()).toEqual(before)
    expect(isClosed(blocked)).toBe(true)
  })

  it('leaves no watchdog behind if the last step fails', async () => {
    const whole = await parts()
    const before = children()
    let meanwhile = before
    const load = (): never => {
      meanwhile = children()
      throw new Error('the index is broken')
    }
    const close = (): Promise<void> => whole.store.close()
    const store = { log: whole.store.log, catalogs: { load }, close } as unknown as GatewayParts['store']
    await expect(openGateway({ ...whole, store })).rejects.toThrow('the index is broken')
    expect(meanwhile).toHaveLength(before.length + 1)
    expect(children()).toEqual(before)
    expect(isClosed(whole)).toBe(true)
  })

  it('reports an unusable state if the folder for workspaces cannot be created, and closes', async () => {
    const blocked = await parts()
    writeFileSync(join(blocked.state, 'workspaces'), 'in the way')
    await expect(openGateway(blocked)).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
    expect(isClosed(blocked)).toBe(true)
  })
})
