import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packGateway } from '../harness/pack-packages.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { ROOT } from '../harness/repository.ts'
import { promise } from '../promises.ts'

const run = promisify(execFile)
/** An npm that finds no registry tries for many minutes. */
const TIMEOUT = 300_000
const NPM_VERSIONS = ['10', '11']
/** The newest Node that is promised, as a program in a package; all else runs on the Node of these tests. */
const LATEST_NODE = `node-${process.platform}-${process.arch}`
/** A server that nobody here wrote. */
const MEMORY_SERVER = join(ROOT, 'node_modules/@modelcontextprotocol/server-memory/dist/index.js')

let root: string
let tarball: string

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-installed-'))
  tarball = await packGateway(root)
  const packages = [...NPM_VERSIONS.map((version) => `npm-${version}@npm:npm@${version}`), `${LATEST_NODE}@24`]
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', root, ...packages], { cwd: root })
}, TIMEOUT)
afterAll(() => rm(root, { recursive: true, force: true }), TIMEOUT)

/** The command line that starts the installed `sallyport`. */
type Install = (user: User) => Promise<readonly string[]>

const INSTALLS: readonly (readonly [way: string, install: Install])[] = [
  [
    'npm install',
    async (user) => {
      await user.npm('npm', ['install', '--prefix', user.prefix, tarball])
      return [join(user.prefix, 'node_modules', '.bin', 'sallyport')]
    },
  ],
  [
    'npm install --global',
    async (user) => {
      await user.npm('npm', ['install', '--global', '--prefix', user.prefix, tarball])
      return [join(user.prefix, 'bin', 'sallyport')]
    },
  ],
  // With `file:`, since an absolute path is taken for a program.
  ['npx', async (user) => [user.node, user.program('npx'), '--yes', `file:${tarball}`]],
]

const ways = NPM_VERSIONS.flatMap((version) =>
  INSTALLS.flatMap(([way, install]) => [
    { version, way, install, node: 'this Node' },
    ...(way === 'npm install --global' ? [{ version, way, install, node: 'Node 24' }] : []),
  ]),
)

describe.each(ways)(`${promise('CLI-1')} what \`$way\` of npm $version on $node puts into an empty folder`, (way) => {
  let user: User
  let command: readonly string[]

  beforeAll(async () => {
    const node = way.node === 'this Node' ? process.execPath : join(root, 'node_modules', LATEST_NODE, 'bin', 'node')
    user = new User(way.version, { node, home: mkdtempSync(join(root, 'user-')) })
    command = await way.install(user)
  }, TIMEOUT)

  it(
    'finds the servers of an agent, lists their tools, runs the agent with them, and serves',
    async () => {
      user.writeAgentFiles()
      expect(await user.run([...command, 'init', '--from', 'claude', '--yes'])).toContain('memory')

      const tools = JSON.parse(await user.run([...command, 'tools', '--json']))
      expect(JSON.stringify(tools)).toContain('read_graph')

      await user.run([...command, 'run', 'claude', '--', 'exit=0'])
      const { servers } = JSON.parse(readFileSync(user.report, 'utf8'))
      expect(servers).toEqual({ gw: expect.arrayContaining(['memory_read_graph']) })
      await user.untilAlone()

      const { url, end } = await user.serve(command)
      try {
        expect((await fetch(new URL('/healthz', url))).status).toBe(200)
        const page = await fetch(new URL('/', url))
        expect(await page.text()).toContain('<html')
      } finally {
        await end()
      }
    },
    TIMEOUT,
  )
})

/** Somebody with a home of their own, an npm of one version, and the fake agent in PATH as `claude`. */
class User {
  readonly home: string
  readonly node: string
  readonly prefix: string
  readonly report: string
  readonly #version: string
  readonly #environment: NodeJS.ProcessEnv

  constructor(version: string, { node, home }: Pick<User, 'node' | 'home'>) {
    this.#version = version
    this.node = node
    this.home = home
    this.prefix = join(home, 'prefix')
    this.report = join(home, 'report')
    const bin = join(home, 'bin')
    for (const folder of [this.prefix, bin]) mkdirSync(folder)
    copyFileSync(join(ROOT, 'tests/fixtures/fake-agent.mjs'), join(bin, 'claude'))
    this.#environment = {
      ...process.env,
      PATH: [bin, dirname(node), process.env.PATH].join(delimiter),
      HOME: home,
      // It may name the registry that this machine uses.
      npm_config_userconfig: join(homedir(), '.npmrc'),
      FAKE_REPORT: this.report,
      npm_config_cache: join(root, 'cache'),
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    }
  }

  program(name: 'npm' | 'npx'): string {
    return join(root, 'node_modules', `npm-${this.#version}`, 'bin', `${name}-cli.js`)
  }

  npm(name: 'npm' | 'npx', args: readonly string[]): Promise<string> {
    return this.run([this.node, this.program(name), ...args])
  }

  async run([program = '', ...args]: readonly string[]): Promise<string> {
    const { stdout } = await run(program, args, { cwd: this.home, env: this.#environment, timeout: TIMEOUT })
    return stdout
  }

  writeAgentFiles(): void {
    const memory = { command: this.node, args: [MEMORY_SERVER] }
    writeFileSync(join(this.home, '.claude.json'), JSON.stringify({ mcpServers: { memory } }))
  }

  async serve([program = '', ...words]: readonly string[]): Promise<{ url: string; end: () => Promise<void> }> {
    const args = [...words, 'serve', '--port', '0', '--json']
    const child = spawn(program, args, { cwd: this.home, env: this.#environment, stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    const end = async (): Promise<void> => {
      // All of them, as Ctrl-C in a terminal would: npx hands on no signal.
      for (const pid of processesWith(this.home)) process.kill(pid, 'SIGTERM')
      await this.untilAlone()
    }
    return { url: JSON.parse(line).url, end }
  }

  /** Nothing of this user's runs any more. */
  async untilAlone(): Promise<void> {
    await eventually(
      () => processesWith(this.home),
      (pids) => pids.length === 0,
    )
  }
}
