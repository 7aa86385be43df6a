// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables are part of what is tested.

import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { loadConfig, loadProblems } from '../home/home.test-kit.ts'
import { describeIssue } from '../reading/config-issue.ts'
import type { DockerGatewayConfig } from '../settings.ts'
import { collectSecrets } from './credentials.ts'

const docker = (entry: string): string => `mcp_servers: {docker: {type: docker-gateway, ${entry}}}`

async function serverOf(
  entry: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<DockerGatewayConfig> {
  const { settings, warnings } = await loadConfig(docker(entry), environment)
  expect(warnings.map(describeIssue)).toEqual([])
  return settings.servers[0] as DockerGatewayConfig
}

const wordsOf = async (entry: string, environment = {}): Promise<string> => {
  const { command, args } = await serverOf(entry, environment)
  return [command, ...args].join(' ')
}

describe('an entry of the Docker MCP Gateway', () => {
  it('has every default filled in', async () => {
    const { settings } = await loadConfig('mcp_servers:\n  docker: {type: docker-gateway}')
    expect(settings.servers).toEqual([
      {
        kind: 'docker-gateway',
        id: 'docker',
        title: undefined,
        enabled: true,
        era: 'legacy',
        command: 'docker',
        args: ['mcp', 'gateway', 'run'],
        env: {},
        cwd: undefined,
        transport: 'stdio',
        port: undefined,
        timeouts: { startup: 30_000, call: 30_000, callMaximum: 600_000, idle: undefined, health: 60_000 },
        includeTools: undefined,
        excludeTools: [],
        isolated: false,
        isolatedTools: [],
        result: undefined,
        maxMessageBytes: 64 * 1024 ** 2,
        credentials: [],
        fromVariables: [],
        trusted: false,
        location: { file: expect.stringMatching(/config\.yaml$/), line: 2 },
      },
    ])
  })

  it.each([
    ['enabled_servers: [github, duckduckgo]', '--servers github,duckduckgo'],
    ['servers: [github]', '--servers github'],
    ['enabledServers: []', ''],
    ['profile: work', '--profile work'],
    ['tools: ["github:*", "time:now"]', '--tools github:*,time:now'],
    ['catalogs: [a.yaml, b.yaml]', '--catalog a.yaml,b.yaml'],
    ['secrets: "docker-desktop:./.env"', '--secrets docker-desktop:./.env'],
    ['cpus: 2, memory: 4Gb', '--cpus 2 --memory 4Gb'],
    ['block_network: true, block_secrets: false', '--block-network=true --block-secrets=false'],
    ['verifySignatures: false, long_lived: true', '--verify-signatures=false --long-lived=true'],
    ['static: true', '--static=true'],
    [
      'interceptors: ["before:exec:/bin/a,b", "after:http:http://h/"]',
      '--interceptor before:exec:/bin/a,b --interceptor after:http:http://h/',
    ],
    ['extra_args: [--verbose, --debug-dns]', '--verbose --debug-dns'],
  ])('turns {%s} into options of `docker mcp gateway run`', async (entry, options) => {
    expect(await wordsOf(entry)).toBe(`docker mcp gateway run ${options}`.trim())
  })

  it('accepts another command, as a list or a string, and adds the options to it', async () => {
    expect(await wordsOf('command: [/opt/docker, mcp, gateway, run], servers: [a]')).toBe(
      '/opt/docker mcp gateway run --servers a',
    )
    expect(await wordsOf(`command: "podman 'mcp x' run"`)).toBe('podman mcp x run')
  })

  it('knows which of its values may be secret', async () => {
    const server = await serverOf('env: {KEY: "${GIVEN}"}, extra_args: ["--log=${GIVEN}"]', { GIVEN: 'given-value' })
    expect(collectSecrets(server)).toEqual(['given-value'])
  })

  it.each([
    [
      'enabled_servers: ["a,b"]',
      'enabled_servers[0]: expected the name of a server without spaces, commas and quotes; got "a,b".',
    ],
    [
      'enabled_servers: ["--tools"]',
      'enabled_servers[0]: expected the name of a server without spaces, commas and quotes; got "--tools".',
    ],
    ['enabled_servers: github', 'enabled_servers: expected a list such as [github, duckduckgo]; got "github".'],
    [
      'servers: [a], enabled_servers: [b]',
      'servers: this means the same as "enabledServers", which is also set here. Keep one of them.',
    ],
    ['transport: sse', 'transport: expected one of "stdio", "streaming"; got "sse".'],
    ['port: 8811', 'port: a port is used only with "transport: streaming". Add that, or remove the port.'],
    ['memory: 2', 'memory: expected a size with its unit, such as "2Gb"; got 2.'],
    ['cpus: 0', 'cpus: expected a whole number from 1 to 1024; got 0.'],
    [
      'interceptors: ["sh -c x"]',
      'interceptors[0]: expected an interceptor such as "before:exec:/usr/local/bin/check"; got a string.',
    ],
    ['profile: p, servers: [a]', 'servers: Docker does not accept this together with "profile". Keep one of them.'],
    ['command: "docker \'mcp"', 'command: expected a command in which all quotes are closed.'],
    ['command: []', 'command: expected a program, such as "npx"; got an empty string.'],
  ])('refuses {%s}', async (entry, problem) => {
    const [line, ...others] = await loadProblems(docker(entry))
    expect(line?.replace(/^config\.yaml:\d+:\d+ mcp_servers\.docker\./, '')).toBe(problem)
    expect(others).toEqual([])
  })

  it('warns of keys of other servers, and suggests known ones', async () => {
    const { warnings } = await loadConfig(docker('url: http://localhost/mcp, enabled_server: [a]'))
    expect(warnings.map(describeIssue).map((line) => line.replace(/^.*docker\./, ''))).toEqual([
      'url: this key is not known and is ignored.',
      'enabled_server: this key is not known. Did you mean "enabled_servers"? The server is not started until it is corrected.',
    ])
  })

  it.each([
    ['enabled_server: [a]', 'enabled_servers'],
    ['tool: ["a:b"]', 'tools'],
    ['block_netwrk: true', 'block_network'],
    ['blockSecret: true', 'blockSecrets'],
    ['verify_signature: true', 'verify_signatures'],
    ['interceptor: ["before:exec:/check"]', 'interceptors'],
  ])(`${promise('ISO-1')} is not started if a misspelt key in %s was meant to restrict it`, async (entry, meant) => {
    const { settings } = await loadConfig(docker(entry))
    const heldBack = expect.stringContaining(`Did you mean "${meant}"?`)
    expect(settings.servers[0]).toMatchObject({ enabled: false, heldBack })
  })

  it('must have its type written without a variable', async () => {
    const lines = await loadProblems('mcp_servers: {a: {type: "${T}"}}', { T: 'docker-gateway' })
    expect(lines).toEqual([
      'config.yaml:1:19 mcp_servers.a.type: expected this type to be written without a variable, because it determines which keys are allowed.',
    ])
  })

  it('does not affect the same keys of other servers', async () => {
    const { settings } = await loadConfig('mcp_servers: {a: {command: x, transport: http, tools: ["*"], port: 0}}')
    expect(settings.servers[0]).toMatchObject({ kind: 'stdio', command: 'x' })
  })
})

describe('the variables of the Docker MCP Gateway', () => {
  it('fill in the missing keys of an entry', async () => {
    const environment = {
      MCP_GATEWAY_COMMAND: '["/opt/docker","mcp"]',
      MCP_GATEWAY_TIMEOUT_SECONDS: '2.5',
      MCP_GATEWAY_ENABLED_SERVERS: 'a, b',
    }
    expect(await wordsOf('title: t', environment)).toBe('/opt/docker mcp --servers a,b')
    expect(await wordsOf('command: docker, servers: []', environment)).toBe('docker')
    expect(await wordsOf('profile: p', environment)).toBe('/opt/docker mcp --profile p')
    expect((await serverOf('title: t', environment)).timeouts).toMatchObject({ startup: 2_500, call: 2_500 })
    const own = await serverOf('startup_timeout: 7, timeout_seconds: 9', environment)
    expect(own.timeouts).toMatchObject({ startup: 7_000, call: 9_000 })
  })

  it('add an entry only if MCP_GATEWAY_ENABLED is true', async () => {
    const servers = async (environment: Record<string, string>, yaml = 'mcp_servers: {a: {command: x}}') =>
      (await loadConfig(yaml, environment)).settings.servers.map(({ id }) => id)
    expect(await servers({ MCP_GATEWAY_COMMAND: 'docker' })).toEqual(['a'])
    expect(await servers({ MCP_GATEWAY_ENABLED: 'false' })).toEqual(['a'])
    expect(await servers({ MCP_GATEWAY_ENABLED: 'true' })).toEqual(['a', 'docker'])
    expect(await servers({ MCP_GATEWAY_ENABLED: '1' }, '')).toEqual(['docker'])
  })

  it('do not replace an entry of the same name in config.yaml, even if it is switched off', async () => {
    const { settings } = await loadConfig(docker('enabled: false'), { MCP_GATEWAY_ENABLED: 'true' })
    expect(settings.servers).toMatchObject([{ id: 'docker', enabled: false }])
  })

  it('count for the limit of one server with bare names', async () => {
    const yaml = 'gateway: {naming: bare}\nmcp_servers: {a: {command: x}}'
    expect(await loadProblems(yaml, { MCP_GATEWAY_ENABLED: 'true' })).toHaveLength(1)
  })
})
