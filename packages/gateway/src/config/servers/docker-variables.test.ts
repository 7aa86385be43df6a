import { describe, expect, it } from 'vitest'
import { catchError, createHome, temporaryFolder } from '../home/home.test-kit.ts'
import { loadSettings } from '../load-settings.ts'
import { readDockerVariables } from './docker-variables.ts'

const NOTHING = { enabled: false, command: undefined, timeout: undefined, servers: undefined }

describe('the variables for the Docker MCP Gateway', () => {
  it('have no effect if they are not set', () => {
    expect(readDockerVariables({})).toEqual(NOTHING)
    expect(readDockerVariables({ MCP_GATEWAY_AUTH_TOKEN: 'x', MCP_GATEWAY_ENABLE: 'x' })).toEqual(NOTHING)
  })

  it.each([
    ['MCP_GATEWAY_ENABLED', 'TRUE', { enabled: true }],
    ['MCP_GATEWAY_ENABLED', ' 0 ', { enabled: false }],
    ['MCP_GATEWAY_COMMAND', 'docker mcp gateway run', { command: ['docker', 'mcp', 'gateway', 'run'] }],
    ['MCP_GATEWAY_COMMAND', '["/a b/docker", ""]', { command: ['/a b/docker', ''] }],
    ['MCP_GATEWAY_TIMEOUT_SECONDS', '45', { timeout: 45_000 }],
    ['MCP_GATEWAY_ENABLED_SERVERS', 'github,, duckduckgo ,', { servers: ['github', 'duckduckgo'] }],
    ['MCP_GATEWAY_ENABLED_SERVERS', '', { servers: [] }],
  ])('%s=%j', (name, value, expected) => {
    expect(readDockerVariables({ [name]: value })).toEqual({ ...NOTHING, ...expected })
  })

  it.each([
    ['MCP_GATEWAY_ENABLED', 'maybe'],
    ['MCP_GATEWAY_ENABLED', 'constructor'],
    ['MCP_GATEWAY_ENABLED', ''],
    ['MCP_GATEWAY_COMMAND', ' '],
    ['MCP_GATEWAY_COMMAND', '[]'],
    ['MCP_GATEWAY_COMMAND', '["docker", 1]'],
    ['MCP_GATEWAY_COMMAND', '["docker"'],
    ['MCP_GATEWAY_COMMAND', 'docker "mcp'],
    ['MCP_GATEWAY_TIMEOUT_SECONDS', '30s'],
    ['MCP_GATEWAY_TIMEOUT_SECONDS', '0'],
    ['MCP_GATEWAY_TIMEOUT_SECONDS', '-1'],
    ['MCP_GATEWAY_TIMEOUT_SECONDS', '1e3'],
    ['MCP_GATEWAY_TIMEOUT_SECONDS', '86401'],
    ['MCP_GATEWAY_ENABLED_SERVERS', '["a"]'],
    ['MCP_GATEWAY_ENABLED_SERVERS', 'a,--tools'],
  ])('are refused with their name, and without their value: %s=%j', async (name, value) => {
    const error = await catchError(Promise.resolve().then(() => readDockerVariables({ [name]: value })))
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toContain(`The variable ${name} `)
    const example = `["docker","mcp"]`
    if (value.length > 3) expect(error.text.replace(example, '')).not.toContain(value)
  })

  it('are checked with or without a config.yaml, and can add a server without one', async () => {
    const environment = { HOME: '/home/ann', MCP_GATEWAY_ENABLED: 'true' }
    const { settings, warnings } = await loadSettings({ home: await temporaryFolder(), environment })
    expect(settings.servers).toMatchObject([{ id: 'docker', kind: 'docker-gateway' }])
    expect(warnings[0]?.problem).toContain('MCP_GATEWAY_ENABLED')
    const bad = { HOME: '/home/ann', MCP_GATEWAY_TIMEOUT_SECONDS: 'x' }
    expect((await catchError(loadSettings({ home: await createHome({}), environment: bad }))).code).toBe(
      'CONFIG_INVALID',
    )
  })
})
