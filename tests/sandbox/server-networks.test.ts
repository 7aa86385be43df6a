import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canRunDocker, type DockerEngine, startDocker } from '../harness/container-engine.ts'
import { eventually } from '../harness/processes.ts'
import { endProcess, REPOSITORY } from '../harness/run-gateway.ts'
import { StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'
import {
  canBuildNetworks,
  makeUserFolder,
  type Network,
  openNetwork,
  probe,
  run,
  SALLYPORT,
  type Start,
  start,
  USERS,
} from './sandbox-world.ts'

const MODES = ['FULL', 'PROXIED', 'NONE'] as const
const METADATA = '169.254.169.254'
const PRIVATE = '10.77.0.2'
/** Of the machine of the gateway. */
const OWN = '11.0.0.1'

/** What a request by the proxy is answered with in FULL, PROXIED and NONE, and whether it gets through without one. */
type Row = readonly [url: string, full: string, proxied: string, none: string]

const AVAILABLE = canBuildNetworks()
/** What isolates, and who starts it. */
const ISOLATIONS = [
  ...USERS.map((user) => ['bubblewrap', user] as const),
  ...(AVAILABLE && canRunDocker() ? [['docker', 'root'] as const] : []),
]

describe.skipIf(!AVAILABLE).each(ISOLATIONS)(
  `a server in a sandbox of %s, started by %s (${promise('SEN-16')})`,
  (driver, user) => {
    const folder = makeUserFolder(user)
    const hosts = join(folder.path, 'hosts')
    let network: Network
    let engine: DockerEngine | undefined
    let client: StdioClient
    let ownMachine: ReturnType<typeof spawn>
    const own: string[] = []
    const setHosts = (rebind: string): void =>
      writeFileSync(
        hosts,
        `127.0.0.1 localhost\n11.0.0.2 site.test other.test\n${PRIVATE} inner.test\n${rebind} rebind.test\n`,
      )
    const options = (): Start => ({ user, folder: folder.path, network: inNetwork(), env: engine?.env ?? {} })
    /** In the first network, with a list of names of our own. */
    const inNetwork = (): Network => {
      const mount = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
      return { ...network, enter: [...network.enter, ...mount] }
    }
    const inside = async (command: readonly string[]): Promise<string> =>
      (await client.call('running_run', { command })).content?.[0]?.text
    const outside = async (command: readonly string[]): Promise<string> => (await run(command, options())).stdout.trim()
    const curl = (url: string, ...more: readonly string[]): readonly string[] => [
      'curl',
      '-s',
      '-g',
      '-o',
      '/dev/null',
      '-w',
      '%{http_code}',
      ...more,
      url,
    ]

    beforeAll(async () => {
      network = await openNetwork()
      if (driver === 'docker') engine = await startDocker()
      setHosts('11.0.0.2')
      const [home, state] = [join(folder.path, 'home'), join(folder.path, 'state')]
      mkdirSync(home)
      writeFileSync(
        join(home, 'config.yaml'),
        JSON.stringify({
          gateway: { startup_wait: '50s' },
          governance: { enforce: true, escalation: { policy_violations: false } },
          sandbox: { proxied: { allow: [`site.test:${network.port}`, `rebind.test:${network.port}`] } },
          mcp_servers: {
            running: {
              ...{ command: process.execPath, args: [join(REPOSITORY, 'tests/fixtures/running-server.mjs')] },
              sandbox: driver,
            },
          },
        }),
      )
      const open = { requires_approval: false }
      writeFileSync(
        join(home, 'tools.yaml'),
        JSON.stringify({
          tools: {
            'running/run': open,
            'running/confidential': { ...open, sensitivity: 'CONFIDENTIAL' },
            'running/secret': { ...open, sensitivity: 'SECRET' },
          },
        }),
      )
      for (const path of [folder.path, home]) chmodSync(path, 0o777)
      const listener = [process.execPath, join(REPOSITORY, 'tests/fixtures/own-machine.mjs'), '9090', 'sallyport-own']
      ownMachine = spawn(network.enter[0] ?? '', [...network.enter.slice(1), ...listener], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await new Promise<void>((resolve) =>
        ownMachine.stdout?.setEncoding('utf8').on('data', (text: string) => {
          own.push(...text.trim().split('\n'))
          resolve()
        }),
      )
      const serve = [...SALLYPORT, 'serve', '--stdio', '--home', home, '--state', state]
      client = new StdioClient(start(serve, options()))
      await client.initialize()
    })
    afterAll(async () => {
      await client.leave()
      await endProcess(ownMachine)
      await network.close()
      // The gateway lives on for a moment, since another window may join it.
      await eventually(
        () => engine?.containers() ?? [],
        (left) => left.length === 0,
      )
      await engine?.close()
      folder.remove()
    })

    const proxied = (url: string): readonly string[] => curl(url, '--noproxy', '', '--proxy', 'http://127.0.0.1:3128')

    it('is not led elsewhere by a name that changes its address', async () => {
      const url = `http://rebind.test:${network.port}/`
      expect(await inside(proxied(url))).toBe('200')
      for (const address of ['127.0.0.1', '::1', METADATA, PRIVATE, OWN]) {
        setHosts(address)
        const seen = await network.arrivals(async () => expect(await inside(proxied(url)), address).toBe('403'))
        expect(seen).toEqual([])
      }
      setHosts('11.0.0.2')
      expect(await inside(proxied(url))).toBe('200')
    })

    it('sends no TLS to another host than it asked for', async () => {
      const handshake = (name: string): readonly string[] => {
        const target = `site.test:${network.port}`
        return ['openssl', 's_client', '-proxy', '127.0.0.1:3128', '-connect', target, '-servername', name]
      }
      const right = await network.arrivals(() => inside(handshake('site.test')))
      expect(right).toContain('bytes')
      const wrong = await network.arrivals(() => inside(handshake('other.test')))
      expect(wrong).not.toContain('bytes')
    })

    it.each(MODES)(`reaches in %s exactly what the label allows (${promise('SEN-7')})`, async (mode) => {
      if (mode === 'PROXIED') await client.call('running_confidential')
      if (mode === 'NONE') await client.call('running_secret')
      const { v4, v6, port } = network
      const table: readonly Row[] = [
        [`http://${v4}:${port}/`, '200', '403', '403'],
        [`http://[${v6}]:${port}/`, '200', '403', '403'],
        [`http://site.test:${port}/`, '200', '200', '403'],
        [`http://other.test:${port}/`, '200', '403', '403'],
        [`http://inner.test:${port}/`, '403', '403', '403'],
        [`http://${PRIVATE}:${port}/`, '403', '403', '403'],
        [`http://0x0a4d0002:${port}/`, '403', '403', '403'],
        [`http://${METADATA}:${port}/`, '403', '403', '403'],
        [`http://[::ffff:${v4}]:${port}/`, '403', '403', '403'],
        ['http://127.0.0.1:9090/', '403', '403', '403'],
        ['http://localhost:9090/', '403', '403', '403'],
        [`http://${OWN}:9090/`, '403', '403', '403'],
      ]
      const column = MODES.indexOf(mode) + 1
      const seen = await network.arrivals(async () => {
        for (const row of table) expect(await inside(proxied(row[0])), row[0]).toBe(row[column])
      })
      expect(seen.filter((line) => line.startsWith('http '))).toHaveLength(
        table.filter((row) => row[column] === '200').length,
      )
      expect(own).toEqual(['ready'])
    })

    it('has no way of its own, in the narrowest mode as in all others', async () => {
      const { v4, v6, port } = network
      const ways: readonly (readonly [words: readonly string[], refused: RegExp])[] = [
        [['tcp', v4, `${port}`], /^no ENETUNREACH$/],
        [['tcp', v6, `${port}`], /^no (ENETUNREACH|EADDRNOTAVAIL)$/],
        [['udp', v4, `${port}`], /^no ENETUNREACH$/],
        [['udp', v6, `${port}`], /^no (ENETUNREACH|EADDRNOTAVAIL)$/],
        [['tcp', METADATA, `${port}`], /^no ENETUNREACH$/],
        [['tcp', '127.0.0.1', '9090'], /^no ECONNREFUSED$/],
        [['tcp', OWN, '9090'], /^no ENETUNREACH$/],
        [['unix', '@sallyport-own'], /^no ECONNREFUSED$/],
        [['name', 'site.test'], /^no (EAI_AGAIN|ENOTFOUND)$/],
      ]
      for (const [words] of ways) expect(await outside(probe(...words)), words.join(' ')).toBe('yes')
      const seen = await network.arrivals(async () => {
        for (const [words, refused] of ways) expect(await inside(probe(...words)), words.join(' ')).toMatch(refused)
      })
      expect(seen).toEqual([])
      // One more visit from outside comes after all of them.
      expect(await outside(probe('tcp', OWN, '9090'))).toBe('yes')
      await expect.poll(() => own.length).toBeGreaterThanOrEqual(1 + 3 + 1)
      expect(own).toHaveLength(1 + 3 + 1)
    })
  },
)
