import { describe, expect, it } from 'vitest'
import { findFlagValues, hasFlag } from './flag-values.ts'
import { findOverlay } from './overlays.ts'

it('a value is found after a space, after = and directly after a letter', () => {
  const args = ['-c', 'a', '-cb', '-c=d', '--config', 'e', '--config=f', '--configure=g', 'c']
  const values = findFlagValues(args, ['-c', '--config']).map(({ value }) => value)
  expect(values).toEqual(['a', 'b', 'd', 'e', 'f'])
})

it('a flag is found in every notation that agents accept', () => {
  expect(hasFlag(['--mcpConfig=x'], '--mcp-config')).toBe(true)
  expect(hasFlag(['--allowedMcpServerNames', 'x'], '--allowed-mcp-server-names')).toBe(true)
  expect(hasFlag(['-pname'], '-p')).toBe(true)
  expect(hasFlag(['--mcp-configs', 'mcp-config', '--profile'], '--mcp-config')).toBe(false)
})

describe('servers are added', () => {
  const widening = (id: string, ...args: readonly string[]): string | undefined =>
    findOverlay(id)?.findWideningFlag?.(args)

  it.each([
    [['--agents', '{"a": {"prompt": "p", "mcpServers": [{"more": {"command": "x"}}]}}'], '--agents'],
    [['--agents={"a": {"mcp\\u0053ervers": ["more"]}}'], '--agents'],
    [['--agents', 'agents.json'], '--agents'],
    [['--agents', '{"a": {"description": "d", "prompt": "mcpServers"}}'], undefined],
  ])('by an agent of Claude Code in %j: %s', (args, flag) => {
    expect(widening('claude-code', ...args)).toBe(flag)
  })
})
