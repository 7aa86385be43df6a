import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Outcome } from '../harness/run-command.ts'
import { MAIN, makePlace, type Place, REPOSITORY } from '../harness/run-gateway.ts'
import type { AgentCli } from './agent-cli.ts'
import { type AgentPlace, makeAgentPlace, newRoot } from './agent-place.ts'
import { runAgent } from './agent-run.ts'
import type { InstalledAgent } from './installed-agent.ts'
import type { ToolResult } from './scripted-answer.ts'
import { type ModelRequest, openScriptedModel } from './scripted-model.ts'

/** How the hook is set up in an agent's own files, as its users do. */
export interface HookedCli {
  readonly cli: AgentCli
  readonly word: 'claude' | 'gemini'
  /** What makes it call the tools of both servers without approval. */
  readonly unasked: readonly string[]
  /** How its model sees a tool of a server. */
  toolName(server: string, tool: string): string
  /** How its sub-agent ends, where it has to say so. */
  readonly ending?: string
  /** What the isolated server is called for the sub-agent. */
  readonly executorsServer: string
  /** The call with which its model starts the sub-agent. */
  delegation(prompt: string): readonly [tool: string, args: object]
}

export interface HookedRun {
  /** One turn of the model for each line. */
  readonly script: string
  /** The command of the hook instead of ours. */
  readonly command?: string
  /** Whether the agent has our gateway among its servers. */
  readonly gateway: 'has it' | 'has it not'
}

export interface HookedOutcome {
  readonly outcome: Outcome
  /** The results of the calls of the main conversation. */
  readonly results: readonly ToolResult[]
  /** The results of the calls of the sub-agent. */
  readonly executors: readonly ToolResult[]
  /** What was written to the hook, without values of this run. */
  readonly received: readonly Record<string, unknown>[]
}

/** A text that only the script of the conversation contains. */
export const MARK = 'the whole script'

const mostResults = (requests: readonly ModelRequest[]): readonly ToolResult[] =>
  requests.map(({ results }) => results).reduce((most, results) => (results.length > most.length ? results : most), [])

const NOTES = {
  command: process.execPath,
  args: [join(REPOSITORY, 'packages/gateway/demo/servers/notes.mjs')],
}

/** Runs an agent with the hook as `hook install --print` gives it, and with an isolated tool in its own settings. */
export async function runHooked(hooked: HookedCli, installed: InstalledAgent, run: HookedRun): Promise<HookedOutcome> {
  const { cli } = hooked
  const model = await openScriptedModel()
  const gateway = makePlace({ mcp_servers: { notes: { ...NOTES, isolatedTools: ['read_note'] } } })
  const place = makeAgentPlace(cli, { model: model.url, servers: ownServers(run, gateway) }, newRoot())
  const received = join(place.root, 'heard.jsonl')
  try {
    isolate(place, cli)
    const environment = cli.environment(model.url)
    await install(hooked, { place, gateway, installed, received, command: run.command })
    const command = [installed.program, ...cli.headless(run.script), ...hooked.unasked]
    const outcome = await runAgent({ command, place, bin: installed.bin, environment })
    const [results, executors] = [true, false].map((isMain) =>
      mostResults(model.requests.filter(({ body }) => body.includes(MARK) === isMain)),
    ) as [readonly ToolResult[], readonly ToolResult[]]
    return { outcome, results, executors, received: readHookInputs(received, place.root) }
  } finally {
    await model.close()
    place.remove()
    gateway.remove()
  }
}

function ownServers(run: HookedRun, { home, state }: Place) {
  const args = [MAIN, 'serve', '--stdio', '--home', home, '--state', state]
  return { notes: NOTES, ...(run.gateway === 'has it' && { gw: { command: process.execPath, args } }) }
}

/** The user says in the agent's own settings which tool is isolated (ISO-1). */
function isolate(place: AgentPlace, { mcpFile }: AgentCli): void {
  const file = join(place.home, mcpFile)
  const settings = JSON.parse(readFileSync(file, 'utf8'))
  settings.mcpServers.notes.isolatedTools = ['read_note']
  writeFileSync(file, JSON.stringify(settings))
}

interface Installing {
  readonly place: AgentPlace
  readonly gateway: Place
  readonly installed: InstalledAgent
  readonly received: string
  readonly command: string | undefined
}

/** Pastes what is printed, as a person would. */
async function install(
  { word }: HookedCli,
  { place, gateway, installed, received, command }: Installing,
): Promise<void> {
  const print = [process.execPath, MAIN, 'hook', 'install', '--print', word, '--json']
  const wanted = [...print, '--home', gateway.home, '--state', gateway.state]
  const { stdout } = await runAgent({ command: wanted, place, bin: installed.bin, environment: {} })
  const { hook, executor } = JSON.parse(stdout)
  const before = existsSync(hook.file) ? JSON.parse(readFileSync(hook.file, 'utf8')) : {}
  const { hooks } = JSON.parse(hook.text)
  for (const [group] of Object.values<any>(hooks)) {
    const [entry] = group.hooks
    entry.command = command ?? `tee -a ${received} | ${entry.command}`
  }
  mkdirSync(dirname(executor.file), { recursive: true })
  writeFileSync(hook.file, JSON.stringify({ ...before, hooks }))
  writeFileSync(executor.file, executor.text)
}

function readHookInputs(file: string, root: string): readonly Record<string, unknown>[] {
  if (!existsSync(file)) return []
  const text = readFileSync(file, 'utf8').replaceAll(root, '/home/user')
  // Neither agent ends its output with a line break.
  return text
    .replaceAll(/\}\s*(?=\{"session_id")/g, '}\n')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
