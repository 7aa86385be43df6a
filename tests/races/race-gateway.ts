import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EmbeddedGateway } from '../../packages/gateway/src/compose/create-gateway.ts'
import { EntryPoints } from '../../packages/gateway/src/compose/entry-points.ts'
import type { Gateway } from '../../packages/gateway/src/compose/gateway.ts'
import { openGateway } from '../../packages/gateway/src/compose/open-gateway.ts'
import { loadSettings, prepareState, readHome } from '../../packages/gateway/src/config/config.ts'
import { openStore } from '../../packages/gateway/src/store/store.ts'
import { eventually } from '../harness/processes.ts'
import type { DirectCall } from './caller.ts'
import type { World } from './play-round.ts'

/** A gateway in the process of the test, so that schedules interleave with all that it does. */
export interface RaceGateway extends Pick<World, 'mcp' | 'api'> {
  readonly direct: DirectCall
  /** What it warned about. */
  readonly warnings: readonly string[]
  close(): Promise<void>
}

export interface RaceGatewayOptions {
  readonly config: { readonly mcp_servers: object }
  readonly tools: object
  readonly addServers?: (gateway: Gateway) => void
}

/** Resolves when its servers are ready. */
export async function openRaceGateway({ config, tools, addServers }: RaceGatewayOptions): Promise<RaceGateway> {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-races-'))
  const state = join(root, 'state')
  writeFileSync(join(root, 'config.yaml'), JSON.stringify(config))
  writeFileSync(join(root, 'tools.yaml'), JSON.stringify(tools))
  const loaded = await loadSettings({ home: root, environment: process.env, content: await readHome(root) })
  await prepareState(state)
  const store = openStore({ state, durability: 'process' })
  const warnings: string[] = []
  const gateway = await openGateway({
    ...{ state, store, loaded, environment: process.env, onWarning: (text) => warnings.push(text) },
    home: { path: root, origin: 'flag' },
  })
  addServers?.(gateway)
  const entryPoints = new EntryPoints(gateway, () => 'a bug')
  gateway.start()
  await eventually(
    () => Object.keys(config.mcp_servers).map((server) => gateway.fleet.get(server)),
    (all) => all.every((one) => [one, one?.counterpart ?? one].every((each) => each?.status().state === 'ready')),
  )
  const { url } = await entryPoints.openPort({ host: '127.0.0.1', port: 0, noAuth: false })
  const embedded = new EmbeddedGateway(gateway, { onWarning: () => {}, release: () => {} })
  return {
    mcp: () => `${url}/mcp`,
    warnings,
    direct: async ({ agent, ...owner }, name, args) => {
      const principal = { ...owner, agent, profile: 'default', role: 'agent' } as const
      return JSON.stringify(await embedded.executeTool(name, args as never, { principal }))
    },
    api: async (method, path, body) => {
      const operator = readFileSync(join(state, 'tokens/operator'), 'utf8').trim()
      const headers = { authorization: `Bearer ${operator}`, 'content-type': 'application/json' }
      const answer = await fetch(`${url}/api${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
      if (!answer.ok) throw new Error(await answer.text())
      return (await answer.json()) as Record<string, any>
    },
    close: async () => {
      await Promise.all([entryPoints.close(), gateway.close('the test is over')])
      rmSync(root, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
