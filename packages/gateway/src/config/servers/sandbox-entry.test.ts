import { describe, expect, it } from 'vitest'
import { loadConfig, loadProblems } from '../home/home.test-kit.ts'

const sandboxOf = async (entry: string, section = '{}') => {
  const { settings } = await loadConfig(`sandbox: ${section}\nmcp_servers: {a: {command: x, ${entry}}}`)
  const [server] = settings.servers
  return server?.kind === 'stdio' ? { per: server.per, sandbox: server.sandbox } : undefined
}

describe('the sandbox of a server', () => {
  it('is none unless the entry or the section asks for one', async () => {
    expect(await sandboxOf('enabled: true')).toEqual({ per: 'gateway', sandbox: undefined })
    expect(await sandboxOf('sandbox: none')).toEqual({ per: 'gateway', sandbox: undefined })
  })

  it.each(['auto', 'bubblewrap', 'docker', 'podman'])('has a process for each session (%s)', async (driver) => {
    const sandbox = { driver, network: 'brokered', mounts: [] }
    expect(await sandboxOf(`sandbox: ${driver}`)).toEqual({ per: 'session', sandbox })
    expect(await sandboxOf('enabled: true', `{default: ${driver}}`)).toEqual({ per: 'session', sandbox })
  })

  it('has the network and the mounts of the entry', async () => {
    expect((await sandboxOf('sandbox: auto, network: none, mounts: [/srv, "/a:/b:rw"]'))?.sandbox).toEqual({
      driver: 'auto',
      network: 'none',
      mounts: ['/srv', '/a:/b:rw'],
    })
  })

  it('has the limits and the forwards of the entry', async () => {
    const entry = 'sandbox: auto, limits: {memory: 100MB}, forwards: [{listen: 5432, to: "DB.internal:5433"}]'
    expect((await sandboxOf(entry))?.sandbox).toMatchObject({
      limits: { memory: 100 * 1024 ** 2 },
      forwards: [{ listen: 5432, host: 'db.internal', port: 5433 }],
    })
  })

  it('can be refused by an entry that says so twice, which then has a process for each session', async () => {
    const none = 'sandbox: none, allow_unsandboxed: true'
    const sandbox = { driver: 'none', network: 'host', mounts: [] }
    expect(await sandboxOf(none, '{default: auto}')).toEqual({ per: 'session', sandbox })
    expect(await sandboxOf(none)).toEqual({ per: 'gateway', sandbox: undefined })
  })

  it('has the network of this machine in bubblewrap only', async () => {
    const sandbox = { driver: 'bubblewrap', network: 'host', mounts: [] }
    expect(await sandboxOf('sandbox: auto, network: host')).toEqual({ per: 'session', sandbox })
    expect(await sandboxOf('network: host', '{default: auto}')).toEqual({ per: 'session', sandbox })
    expect(await sandboxOf('sandbox: bubblewrap, network: host', '{driver: docker}')).toEqual({
      ...{ per: 'session', sandbox },
    })
  })

  it.each([
    ['sandbox: {default: auto}\nmcp_servers: {a: {command: x, sandbox: none}}', 'allow_unsandboxed: true'],
    ['mcp_servers: {a: {command: x, network: none}}', 'sandbox: auto'],
    ['mcp_servers: {a: {command: x, mounts: [/srv]}}', 'sandbox: auto'],
    ['mcp_servers: {a: {command: x, network: host}}', 'sandbox: auto'],
    ['mcp_servers: {a: {command: x, sandbox: docker, network: host}}', '"sandbox: bubblewrap"'],
    ['sandbox: {driver: podman}\nmcp_servers: {a: {command: x, sandbox: auto, network: host}}', '"brokered"'],
    ['mcp_servers: {a: {image: x, network: host}}', '"brokered"'],
    ['mcp_servers: {a: {url: "http://127.0.0.1:1/mcp", network: host}}', 'url_isolated'],
    [
      'mcp_servers: {a: {command: x, sandbox: auto, network: host, forwards: [{listen: 5432, to: "db:1"}]}}',
      'no "forwards"',
    ],
    [
      'sandbox: {default: auto}\nmcp_servers: {a: {command: x, sandbox: none, allow_unsandboxed: true, per: gateway}}',
      '"session"',
    ],
    [
      'sandbox: {default: auto}\nmcp_servers: {a: {command: x, sandbox: none, allow_unsandboxed: true, network: host}}',
      'sandbox: auto',
    ],
    ['mcp_servers: {a: {command: x, sandbox: auto, per: gateway}}', '"session"'],
    ['mcp_servers: {a: {command: x, sandbox: auto, mounts: [srv]}}', 'begins with / or ~'],
    ['mcp_servers: {a: {command: x, limits: {memory: 1GB}}}', 'sandbox: auto'],
    ['mcp_servers: {a: {command: x, sandbox: auto, limits: {memory: 1KB}}}', 'from 64MB'],
    ['mcp_servers: {a: {command: x, sandbox: auto, forwards: [{listen: 5432, to: db}]}}', 'a host and a port'],
    ['mcp_servers: {a: {command: x, sandbox: auto, forwards: [{listen: 53, to: "db:53"}]}}', 'from 1024'],
    ['mcp_servers: {a: {command: x, sandbox: auto, forwards: [{listen: 3128, to: "db:53"}]}}', 'another port'],
    ['mcp_servers: {a: {url: "http://127.0.0.1:1/mcp", sandbox: auto}}', 'url_isolated'],
    ['mcp_servers: {a: {url: "http://127.0.0.1:1/mcp", network: none}}', 'url_isolated'],
    ['mcp_servers: {a: {type: docker-gateway, sandbox: auto}}', 'program of its own'],
    ['mcp_servers: {a: {type: docker-gateway, network: none}}', 'program of its own'],
    ['mcp_servers: {a: {command: x, sandbox: runc}}', 'docker'],
    ['mcp_servers: {a: {image: x, sandbox: none}}', 'its sandbox'],
    ['mcp_servers: {a: {image: x, sandbox: bubblewrap}}', '"docker" or "podman"'],
    ['mcp_servers: {a: {image: "--privileged"}}', 'the name of an image'],
    ['mcp_servers: {a: {image: x, cwd: here}}', 'begins with /'],
    ['mcp_servers: {a: {image: x, per: gateway}}', '"session"'],
    ['mcp_servers: {a: {image: x, url: "http://127.0.0.1:1/mcp"}}', 'url_isolated'],
    ['mcp_servers: {a: {type: docker-gateway, image: x}}', 'program of its own'],
  ])('is an error in %s', async (yaml, expected) => {
    expect((await loadProblems(yaml)).join()).toContain(expected)
  })

  it('has the driver of the entry, else that of the section', async () => {
    const driverOf = async (entry: string, section: string) => (await sandboxOf(entry, section))?.sandbox?.driver
    expect(await driverOf('sandbox: auto', '{driver: podman}')).toBe('podman')
    expect(await driverOf('sandbox: docker', '{default: podman}')).toBe('docker')
    expect(await driverOf('enabled: true', '{default: auto, driver: docker}')).toBe('docker')
  })

  it('is a container for an image, whatever else is asked for', async () => {
    const read = async (entry: string, section = '{}') => {
      const { settings } = await loadConfig(`sandbox: ${section}\nmcp_servers: {a: {image: "my/server:1", ${entry}}}`)
      return settings.servers[0]
    }
    expect(await read('args: [--stdio], cwd: /app')).toMatchObject({
      ...{ kind: 'stdio', per: 'session', command: '', args: ['--stdio'], cwd: '/app' },
      sandbox: { driver: 'auto', image: 'my/server:1', network: 'brokered', mounts: [] },
    })
    expect(await read('command: [node, a.js], args: [b]', '{default: bubblewrap}')).toMatchObject({
      ...{ command: 'node', args: ['a.js', 'b'], sandbox: { driver: 'auto' } },
    })
  })

  it('is asked for by a default that is written as a variable', async () => {
    const { settings } = await loadConfig(`sandbox: {default: "\${SANDBOX}"}\nmcp_servers: {a: {command: x}}`, {
      SANDBOX: 'auto',
    })
    expect(settings.servers[0]).toMatchObject({ sandbox: { network: 'brokered' } })
  })
})
