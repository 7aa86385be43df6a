import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLocalEverything } from '../harness/everything-server.ts'
import { MAIN, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import type { AgentCli, OwnServer } from './agent-cli.ts'
import { fixture, makeAgentPlace, newRoot } from './agent-place.ts'
import { runAgent } from './agent-run.ts'
import { AGENT_CLIS } from './clis/clis.ts'
import { findInstalled, type InstalledAgent } from './installed-agent.ts'
import { openRecordingProxy } from './recording-proxy.ts'
import { DONE } from './scripted-answer.ts'
import { openScriptedModel } from './scripted-model.ts'

type Json = Record<string, any>

const HANDSHAKES = join(REPOSITORY, 'tests/fixtures/handshakes')
const wanted = (process.env.SALLYPORT_AGENTS ?? '').split(',')
const clis = AGENT_CLIS.filter(({ id }) => wanted.includes(id)).map((cli) => [cli.id, cli] as const)

/** A way to a gateway on which everything that the client says is kept. */
interface Wiretap {
  readonly server: OwnServer
  received(): string
}

type TapCarrier = (gateway: RunningGateway, folder: string) => Promise<Wiretap>

const CARRIERS: Readonly<Record<string, TapCarrier>> = {
  stdio: async ({ home, state }, folder) => {
    const file = join(folder, 'told.jsonl')
    const serve = [MAIN, 'serve', '--stdio', '--home', home, '--state', state]
    return {
      server: { command: process.execPath, args: [fixture('recording-pipe.mjs'), file, ...serve] },
      received: () => readFileSync(file, 'utf8'),
    }
  },
  http: async ({ mcp }) => {
    const proxy = await openRecordingProxy(mcp)
    onTestFinished(() => proxy.close())
    return {
      server: { url: proxy.url },
      received: () => proxy.requests.map((request) => JSON.stringify(request)).join('\n'),
    }
  },
}

describe.each(clis)('%s', (id, cli) => {
  it.each(Object.entries(CARRIERS))('says hello and calls a tool over %s', async (carrier, tap) => {
    const installed = findInstalled(id)
    if (!installed) throw new Error(`${id} is not installed.`)
    const lines = await record(cli, installed, tap)
    const file = `${id}-${installed.version}.${carrier}.jsonl`
    writeFileSync(join(HANDSHAKES, file), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  })
})

/** The CLI with a gateway among its own servers. */
async function record(cli: AgentCli, { bin, program }: InstalledAgent, tap: TapCarrier): Promise<readonly Json[]> {
  // Goose leaves arguments out that a tool's schema does not name: this server's does.
  const everything = createLocalEverything()
  onTestFinished(() => everything.close())
  const gateway = await runGateway({ config: { mcp_servers: { everything: everything.entry } } })
  onTestFinished(() => gateway.stop())
  const model = await openScriptedModel()
  onTestFinished(() => model.close())
  const root = newRoot()
  const { server, received } = await tap(gateway, root)
  const place = makeAgentPlace(cli, { model: model.url, servers: { gw: server } }, root)
  onTestFinished(() => place.remove())
  const command = [program, ...cli.headless('[[call everything_echo {"message":"hi"}]]'), ...(cli.unasked ?? [])]
  const outcome = await runAgent({ command, place, bin, environment: cli.environment(model.url) })
  expect(outcome.stdout, JSON.stringify({ outcome, requests: model.requests }, undefined, 1)).toContain(DONE)
  return anonymous(received(), root)
}

/** Without what is of this machine or of this run, up to the call; answers to what the gateway asks are left out. */
function anonymous(text: string, root: string): readonly Json[] {
  const lines: readonly Json[] = text
    .replaceAll(root, '/home/user')
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, NIL)
    .replace(/\b(call|toolu|fc)_[0-9a-f]{32}\b/g, '$1_0001')
    .replace(/\b20\d{6}_\d+\b/g, '20260101_1')
    .replace(/\b1[78]\d{11}\b/g, '1700000000000')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  const messageOf = (line: Json): Json => (line.verb === undefined ? line : (line.message ?? { method: line.verb }))
  const call = lines.findIndex((line) => messageOf(line).method === 'tools/call')
  return lines.slice(0, call + 1).filter((line) => messageOf(line).method !== undefined)
}

const NIL = '00000000-0000-4000-8000-000000000000'
