import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { findPoison, inferRisk, RISK_TOKENS, type ToolDefinition } from '@sallyport/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { REPOSITORY } from './run-gateway.ts'
import { StdioClient } from './stdio-client.ts'

const SERVERS = ['everything', 'filesystem', 'memory']

/** The tools of a reference server, as it lists them. */
async function toolsOf(server: string): Promise<readonly ToolDefinition[]> {
  const program = join(REPOSITORY, `node_modules/@modelcontextprotocol/server-${server}/dist/index.js`)
  const folder = join(REPOSITORY, 'docs')
  const client = new StdioClient(spawn(process.execPath, [program, ...(server === 'filesystem' ? [folder] : [])]))
  onTestFinished(() => client.kill())
  await client.initialize()
  const { result } = await client.request('tools/list')
  return result.tools
}

describe.each(SERVERS)('the tools of server-%s', (server) => {
  it('are not taken for poisoned', async () => {
    const tools = await toolsOf(server)
    expect(tools.length).toBeGreaterThan(5)
    const options = { server, otherServers: SERVERS, otherTools: new Set<string>() }
    for (const tool of tools) expect([tool.name, findPoison(tool, options)]).toEqual([tool.name, []])
  })

  it('are of the risk that their own hints suggest, but where the name is worse', async () => {
    const risks = (await toolsOf(server)).map((tool) => {
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
