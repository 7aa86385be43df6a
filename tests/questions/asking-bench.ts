import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import type { Conversation } from '../harness/asked-client.ts'
import type { Message } from '../harness/call-stream.ts'
import { eventually } from '../harness/processes.ts'
import { makePlace, REPOSITORY, type RunningGateway, type RunOptions, runGateway } from '../harness/run-gateway.ts'

const ASKING_SERVER = join(REPOSITORY, 'tests/fixtures/asking-server.mjs')

/** A message that a server received, with its process and session. */
export interface ReceivedMessage {
  readonly pid: number
  readonly session: string
  readonly message: Message
}

/** A gateway in front of servers that ask their clients. */
export interface AskingBench {
  readonly gateway: RunningGateway
  /** Everything that the servers of this name have received so far. */
  receivedBy(server: string): readonly ReceivedMessage[]
  close(): Promise<void>
}

export interface AskingServer {
  readonly http?: boolean
  readonly switches?: readonly string[]
  /** Further members of its entry. */
  readonly entry?: { readonly timeouts?: object }
}

export async function openAskingBench(
  servers: Readonly<Record<string, AskingServer>>,
  options: Omit<RunOptions, 'config'> & { readonly settings?: object } = {},
): Promise<AskingBench> {
  const place = makePlace()
  const children: ChildProcess[] = []
  const logOf = (server: string): string => join(place.home, `${server}.heard`)
  const entries = Object.entries(servers).map(async ([id, { http, switches = [], entry: more = {} }]) => {
    const entry = { ...more, timeouts: { startup: '50s', ...more.timeouts } }
    const args = [ASKING_SERVER, '--log', logOf(id), ...switches]
    if (!http) return [id, { command: process.execPath, args, ...entry }]
    const child = spawn(process.execPath, [...args, '--http'], { stdio: ['pipe', 'pipe', 'inherit'] })
    children.push(child)
    return [id, { url: `http://127.0.0.1:${await firstLineOf(child)}/mcp`, ...entry }]
  })
  const config = { mcp_servers: Object.fromEntries(await Promise.all(entries)), ...options.settings }
  place.writeConfig(config)
  const gateway = await runGateway({ ...options, place })
  await untilKnown(gateway, Object.keys(servers))
  return {
    gateway,
    receivedBy: (server) => readReceived(logOf(server)),
    close: async () => {
      await gateway.stop()
      await Promise.all(children.map(endServer))
    },
  }
}

/** A call of a tool that is not known yet would fail. */
async function untilKnown(gateway: RunningGateway, servers: readonly string[]): Promise<void> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}` }
  const states = async (): Promise<readonly string[]> => {
    const read = servers.map(async (id) => (await fetch(`${gateway.url}/api/servers/${id}`, { headers })).json())
    return (await Promise.all(read)).map((server) => (server as Message).state)
  }
  await eventually(states, (seen) => seen.every((state) => state === 'ready'))
}

function readReceived(file: string): readonly ReceivedMessage[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as ReceivedMessage)
}

async function firstLineOf(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the server has no stdout')
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return line
}

async function endServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.stdin?.end()
  await gone
}

export const elicitation = (message: string): Message => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
})

export const sampling = (text: string): Message => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 10 },
})

export const ROOTS: Message = { method: 'roots/list' }

export const accepted = (name: string): Message => ({ result: { action: 'accept', content: { name } } })

export const runOf = (server: string, ...steps: readonly Message[]): Message => ({
  name: `${server}_run`,
  arguments: { steps },
})

/** What the server reports of a successful call: {answers, capabilities, clientInfo, pid}. */
export function outcomeOf({ answer }: Pick<Conversation, 'answer'>): Message {
  expect(answer.result, JSON.stringify(answer).slice(0, 1_000)).toBeDefined()
  const { content, messages, contents, isError } = answer.result
  expect(isError, JSON.stringify(answer).slice(0, 1_000)).toBeUndefined()
  return JSON.parse(content?.[0].text ?? messages?.[0].content.text ?? contents?.[0].text)
}
