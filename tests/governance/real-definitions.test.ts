import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import {
  findOtherTools,
  findPoison,
  inferRisk,
  type JsonObject,
  RISK_TOKENS,
  type ToolDefinition,
} from '@sallyport/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const SERVERS = ['everything', 'filesystem', 'memory']

/** All that a server puts before a model, as it told it. */
interface HonestServer {
  readonly package: string
  readonly version: string
  readonly instructions?: string
  readonly tools: readonly ToolDefinition[]
  readonly prompts: readonly JsonObject[]
  readonly resources: readonly JsonObject[]
  readonly resourceTemplates: readonly JsonObject[]
}

async function ask(server: string): Promise<HonestServer> {
  const folder = `@modelcontextprotocol/server-${server}`
  const { version } = createRequire(import.meta.url)(join(REPOSITORY, 'node_modules', folder, 'package.json'))
  const program = join(REPOSITORY, 'node_modules', folder, 'dist/index.js')
  const docs = join(REPOSITORY, 'docs')
  const client = new StdioClient(spawn(process.execPath, [program, ...(server === 'filesystem' ? [docs] : [])]))
  onTestFinished(() => client.kill())
  const { instructions } = (await client.initialize()).result
  const list = async (method: string, key: string) => (await client.request(method)).result?.[key] ?? []
  return {
    ...{ package: folder, version, instructions },
    tools: await list('tools/list', 'tools'),
    prompts: await list('prompts/list', 'prompts'),
    resources: await list('resources/list', 'resources'),
    resourceTemplates: await list('resources/templates/list', 'resourceTemplates'),
  }
}

const RECORDINGS = join(REPOSITORY, 'tests/fixtures/honest-servers')

const recorded = (): readonly HonestServer[] =>
  readdirSync(RECORDINGS).map((file) => JSON.parse(readFileSync(join(RECORDINGS, file), 'utf8')))

describe(`${promise('GOV-10')} popular honest servers`, () => {
  it('have no findings, each together with all others', async () => {
    const servers = [...(await Promise.all(SERVERS.map(ask))), ...recorded()]
    expect(servers.map((server) => `${server.package} ${server.version}`).sort()).toEqual(HONEST)
    for (const server of servers) {
      const own = new Set(server.tools.map(({ name }) => name))
      const others = servers.filter((other) => other !== server)
      const neighbours = {
        otherServers: others.map((other) => other.package),
        otherTools: new Set(
          others.flatMap(({ tools }) => tools.map(({ name }) => name)).filter((name) => !own.has(name)),
        ),
      }
      const { tools, prompts, resources, resourceTemplates, instructions } = server
      const texts = instructions === undefined ? [] : [{ text: instructions }]
      for (const item of [...tools, ...prompts, ...resources, ...resourceTemplates, ...texts]) {
        const name = String((item as JsonObject).name)
        const found = [...findPoison(item), ...findOtherTools(item, { server: server.package, name, ...neighbours })]
        expect([server.package, name, found]).toEqual([server.package, name, []])
      }
    }
  })
})

const HONEST = [
  '@modelcontextprotocol/server-brave-search 0.6.2',
  '@modelcontextprotocol/server-everything 2026.8.31',
  '@modelcontextprotocol/server-filesystem 2026.8.31',
  '@modelcontextprotocol/server-github 2025.4.8',
  '@modelcontextprotocol/server-gitlab 2025.4.25',
  '@modelcontextprotocol/server-google-maps 0.6.2',
  '@modelcontextprotocol/server-memory 2026.8.31',
  '@modelcontextprotocol/server-puppeteer 2025.5.12',
  '@modelcontextprotocol/server-sequential-thinking 2026.8.31',
  '@modelcontextprotocol/server-slack 2025.4.25',
  '@notionhq/notion-mcp-server 2.5.2',
  '@playwright/mcp 0.0.83',
  '@upstash/context7-mcp 4.1.1',
  'chrome-devtools-mcp 1.11.0',
  'duckduckgo-mcp-server 0.7.0',
  'figma-developer-mcp 0.13.2',
  'mcp-server-fetch 2026.10.24',
  'mcp-server-git 2026.10.19',
  'mcp-server-time 2026.10.19',
  'tavily-mcp 0.2.22',
]

describe.each(SERVERS)('the tools of server-%s', (server) => {
  it('have the risk that their own hints suggest, unless their name suggests a higher one', async () => {
    const risks = (await ask(server)).tools.map((tool) => {
      const hints = tool.annotations as { readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean }
      return { name: tool.name, ...hints, ...inferRisk(tool, { tokens: RISK_TOKENS, findings: [] }) }
    })
    const named = (isOdd: (risk: (typeof risks)[number]) => boolean) => risks.filter(isOdd).map(({ name }) => name)
    expect(named(({ destructiveHint, level }) => destructiveHint === true && level !== 'high')).toEqual([])
    expect(named(({ readOnlyHint, level }) => readOnlyHint === false && level === 'low')).toEqual([])
    const worse = server === 'everything' ? ['trigger-long-running-operation'] : []
    expect(named(({ readOnlyHint, level }) => readOnlyHint === true && level === 'high')).toEqual(worse)
  })
})
