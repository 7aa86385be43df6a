import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLocalEverything } from '../everything-server.ts'
import { MAIN, REPOSITORY, runGateway } from '../run-gateway.ts'
import type { AgentCli } from './agent-cli.ts'
import { fixture, makeAgentPlace, newRoot } from './agent-place.ts'
import { runAgent } from './agent-run.ts'
import { AGENT_CLIS } from './clis/clis.ts'
import { findInstalled } from './installed-agent.ts'
import { DONE } from './scripted-answer.ts'
import { openScriptedModel } from './scripted-model.ts'

type Json = Record<string, any>

const HANDSHAKES = join(REPOSITORY, 'tests/fixtures/handshakes')
const wanted = (process.env.SALLYPORT_AGENTS ?? '').split(',')

describe.each(AGENT_CLIS.filter(({ id }) => wanted.includes(id)).map((cli) => [cli.id, cli] as const))(
  '%s',
  (id, cli) => {
    it('says hello and calls a tool', async () => {
      const installed = findInstalled(id)
      if (!installed) throw new Error(`${id} is not installed.`)
      const { messages, stdout } = await record(cli, installed)
      expect(stdout).toContain(DONE)
      const text = messages.map((message) => `${JSON.stringify(message)}\n`).join('')
      writeFileSync(join(HANDSHAKES, `${id}-${installed.version}.stdio.jsonl`), text)
    })
  },
)

/** The CLI with a gateway among its own servers, whose stdin is kept. */
async function record(cli: AgentCli, { bin, program }: { readonly bin: string; readonly program: string }) {
  // Goose leaves arguments out that a tool's schema does not name.
  const everything = createLocalEverything()
  onTestFinished(() => everything.close())
  const gateway = await runGateway({ config: { mcp_servers: { everything: everything.entry } } })
  onTestFinished(() => gateway.stop())
  const model = await openScriptedModel()
  onTestFinished(() => model.close())
  const root = newRoot()
  const told = join(root, 'told.jsonl')
  const serve = [MAIN, 'serve', '--stdio', '--home', gateway.home, '--state', gateway.state]
  const gw = { command: process.execPath, args: [fixture('recording-pipe.mjs'), told, ...serve] }
  const place = makeAgentPlace(cli, { model: model.url, servers: { gw } }, root)
  onTestFinished(() => place.remove())
  const command = [program, ...cli.headless('[[call everything_echo {"message":"hi"}]]'), ...(cli.unasked ?? [])]
  const outcome = await runAgent({ command, place, bin, environment: cli.environment(model.url) })
  if (!outcome.stdout.includes(DONE)) console.error(outcome, JSON.stringify(model.requests), model.unknown)
  return { ...outcome, messages: anonymous(readFileSync(told, 'utf8'), root) }
}

/** Without what is of this machine or of this run, up to the call; answers to what the gateway asks are not its words. */
function anonymous(text: string, root: string): readonly Json[] {
  const messages: readonly Json[] = text
    .replaceAll(root, '/home/user')
    .replace(
      /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
      '00000000-0000-4000-8000-000000000000',
    )
    .replace(/\b(call|toolu|fc)_[0-9a-f]{32}\b/g, '$1_0001')
    .replace(/\b20\d{6}_\d+\b/g, '20260101_1')
    .replace(/\b1[78]\d{11}\b/g, '1700000000000')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  const calls = messages.findIndex(({ method }) => method === 'tools/call')
  return messages.slice(0, calls + 1).filter(({ method }) => method !== undefined)
}
