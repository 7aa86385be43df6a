import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder, npmServer } from '../governance/governed-bench.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { roundsOf } from '../harness/rounds.ts'
import { type Outcome, runCommand } from '../harness/run-command.ts'
import { endProcess, makePlace, type Place, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const CANARY = `Ada earns ${randomBytes(9).toString('hex')} a year`

/** The text as it is, in UTF-16, in hexadecimal digits and in base64, wherever in a longer text it begins. */
const FORMS: readonly (string | Buffer)[] = [
  CANARY,
  Buffer.from(CANARY, 'utf16le'),
  Buffer.from(CANARY).toString('hex'),
  ...[0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), Buffer.from(CANARY)])
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  ),
]

/** The files of a folder that contain the canary. */
const findCanary = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => {
      const bytes = readFileSync(path)
      return FORMS.some((form) => bytes.includes(form))
    })

let folder: ReturnType<typeof makeFolder>

beforeAll(() => {
  folder = makeFolder()
  mkdirSync(join(folder.path, 'hr'))
  writeFileSync(join(folder.path, 'hr/salaries.txt'), lines(2_000))
  writeFileSync(join(folder.path, 'hr/large.txt'), lines(100_000))
})
afterAll(() => folder.remove())

const lines = (count: number): string => Array.from({ length: count }, (_, line) => `${line} ${CANARY}`).join('\n')
const handleIn = (text: string): string => /r_[a-z2-7]{20}/.exec(text)?.[0] ?? ''

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

it('the search finds the canary in each form', () => {
  for (const [index, form] of FORMS.entries()) {
    const own = join(folder.path, `form-${index}`)
    mkdirSync(own)
    expect(findCanary(own)).toEqual([])
    writeFileSync(join(own, 'file'), Buffer.concat([Buffer.from('before'), Buffer.from(form), Buffer.from('after')]))
    expect(findCanary(own)).toHaveLength(1)
    rmSync(own, { recursive: true })
  }
})

describe(`stored results of a private session (${promise('SEN-23')})`, () => {
  let place: Place
  let gateway: RunningGateway
  let keys: string

  const start = (): Promise<RunningGateway> => runGateway({ place, args: [], env: { SALLYPORT_KEYS: keys } })

  beforeAll(async () => {
    keys = join(folder.path, 'keys')
    place = makePlace({
      governance: { enforce: true, escalation: { policy_violations: false } },
      context: { cap: 2_000 },
      mcp_servers: { files: { ...npmServer('filesystem', folder.path), sensitivity: 'confidential' } },
    })
    const open = { requires_approval: false, permission: ['READ'] }
    writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools: { 'files/read_text_file': open } }))
    gateway = await start()
  })
  afterAll(() => gateway.stop())

  async function openClient(session: string): Promise<LegacyClient> {
    const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ agent: 'codex', session })
    const reply = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body })
    const { token } = (await reply.json()) as { token: string }
    return LegacyClient.open(gateway.mcp, { authorization: `Bearer ${token}` })
  }

  /** A client over HTTP, or a window. */
  type Caller = Pick<LegacyClient, 'call'>

  const callText = async (client: Caller, tool: string, args: object): Promise<string> =>
    JSON.stringify(await client.call(tool, args))
  const load = (client: Caller, name = 'salaries'): Promise<string> =>
    callText(client, 'files_read_text_file', { path: join(folder.path, `hr/${name}.txt`) })
  const page = (client: Caller, handle: string, where: object): Promise<string> =>
    callText(client, 'sallyport_read_result', { handle, ...where })
  const command = (...args: string[]): Promise<Outcome> =>
    runCommand([...args, '--home', place.home, '--state', place.state], { env: { SALLYPORT_KEYS: keys } })
  async function restart(): Promise<void> {
    await kill(gateway.child)
    gateway = await start()
  }

  it('can be read in every way, also after a restart, and are not in any file of the state', async () => {
    const shown = await load(await openClient('payroll'))
    const handle = handleIn(shown)
    for (const when of ['before a restart', 'after a restart']) {
      const client = await openClient('payroll')
      for (const where of [{ lines: '1500-1501' }, { offset: 60_000 }, { grep: '1999' }, {}])
        expect(await page(client, handle, where), `${when}: ${JSON.stringify(where)}`).toContain(CANARY)
      const listed = await callText(client, 'sallyport_list_directory', { path: '/workspace/results' })
      expect(listed).toContain(String(lines(2_000).length))
      const [path = ''] = /\/workspace\/results\/[\w.-]+/.exec(shown) ?? []
      expect(await callText(client, 'sallyport_read_file', { path, limit: 200 })).toContain(CANARY)
      await restart()
    }
    expect(await page(await openClient('other'), handle, {})).toContain('no such result')
    expect(findCanary(place.state)).toEqual([])
    expect(findCanary(keys)).toEqual([])
  })

  it('are not in any file of the state whenever the gateway is killed, and the next one goes on', async () => {
    for (let round = 0; round < roundsOf({ few: 3, many: 15 }); round++) {
      const client = await openClient(`killed-${round}`)
      const handle = handleIn(await load(client))
      const calls = Array.from({ length: 6 }, () => load(client, 'large').catch(() => ''))
      // In each round a little later, while results are being written.
      await eventually(
        () => readdirSync(join(place.state, 'workspaces'), { recursive: true }).length,
        (count) => count > 0,
      )
      for (let turn = 0; turn < round * 40; turn++) await new Promise(setImmediate)
      await kill(gateway.child)
      await Promise.all(calls)
      expect(findCanary(place.state)).toEqual([])
      gateway = await start()
      expect(await page(await openClient(`killed-${round}`), handle, { lines: '1-2' })).toContain(CANARY)
    }
  })

  it('end with a clear error if the master key is lost or wrong, or a file was changed; new results work', async () => {
    const ada = await openClient('lost')
    const handle = handleIn(await load(ada))
    const master = join(keys, 'master-key')
    for (const [spoil, restore] of [
      [() => renameSync(master, `${master}.lost`), () => renameSync(`${master}.lost`, master)],
      [() => changeFile(handle), () => changeFile(handle)],
    ] as const) {
      spoil()
      await restart()
      const client = await openClient('lost')
      expect(await page(client, handle, {})).toMatch(/cannot be decrypted.*Call the tool again/)
      const again = handleIn(await load(client))
      expect(await page(client, again, { lines: '1-2' })).toContain(CANARY)
      restore()
      await restart()
      expect(await page(await openClient('lost'), handle, { lines: '1-2' })).toContain(CANARY)
    }
  })

  /** Flips one bit; a second time flips it back. */
  function changeFile(handle: string): void {
    const folders = readdirSync(join(place.state, 'workspaces'), { recursive: true, encoding: 'utf8' })
    const path = join(place.state, 'workspaces', folders.find((name) => name.includes(handle)) ?? '')
    const bytes = readFileSync(path)
    bytes[1_000] = (bytes[1_000] ?? 0) ^ 1
    writeFileSync(path, bytes)
  }

  it('need a valid master key: otherwise the gateway does not start, and names the variable without its value', async () => {
    const args = ['serve', '--home', place.home, '--state', join(folder.path, 'never'), '--port', '0']
    const refused = await runCommand(args, { env: { SALLYPORT_MASTER_KEY: 'not-a-real-key' } })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('The variable SALLYPORT_MASTER_KEY is not a key')
    expect(refused.stderr).not.toContain('not-a-real-key')
  })

  it('are not stored, and the operator reads why, if the folder for keys is open to others', async () => {
    chmodSync(keys, 0o755)
    await restart()
    expect(await load(await openClient('open'))).toContain('could not be saved')
    expect(gateway.stderr()).toMatch(/open to other users \(mode 755\).*chmod 700/)
    chmodSync(keys, 0o700)
    expect(findCanary(place.state)).toEqual([])
    await restart()
  })

  it('are gone when the session is purged, also for windows that are open, and in backups', async () => {
    const window = openWindow(place)
    await window.initialize()
    const handle = handleIn(await load(window))
    const backup = join(folder.path, 'backup')
    cpSync(place.state, backup, { recursive: true, filter: (source) => !source.endsWith('.sock') })
    expect(findCanary(backup)).toEqual([])
    const paging = Array.from({ length: 20 }, () => page(window, handle, { lines: '1-2' }))
    const purged = JSON.parse((await command('sessions', 'end', 'local', '--purge', '--json')).stdout)
    expect(purged).toMatchObject({ ended: { session: 'local' }, next: 'local~2', removed: { key: true } })
    expect(purged.removed.files).toBeGreaterThan(0)
    expect(await page(window, handle, { lines: '1-2' })).toContain('no such result')
    await Promise.all(paging)
    // The window is still in the session that ended, and stores nothing more.
    expect(await load(window)).toContain('could not be saved')
    expect(gateway.records().find(({ type }) => type === 'SESSION_DATA_REMOVED')).toMatchObject({
      ...{ user: purged.ended.user, session: 'local', reason: 'purge' },
      ...purged.removed,
    })
    await window.leave()
    const next = openWindow(place)
    await next.initialize()
    expect(await page(next, handleIn(await load(next)), { lines: '1-2' })).toContain(CANARY)
    await next.leave()

    // The gateway of a backup, with the keys of today.
    await endProcess(gateway.child)
    const original = place
    place = { ...place, state: backup }
    gateway = await start()
    const restored = openWindow(place)
    await restored.initialize()
    expect(await page(restored, handle, { lines: '1-2' })).toContain('cannot be decrypted')
    await restored.leave()
    await endProcess(gateway.child)
    place = original
    gateway = await start()
  })

  it('are removed by the next start if the gateway was killed while it purged', async () => {
    for (let round = 0; round < roundsOf({ few: 3, many: 12 }); round++) {
      const session = `cut-${round}`
      await load(await openClient(session))
      const headers = { authorization: `Bearer ${gateway.token('operator')}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ session, purge: true })
      const ending = fetch(`${gateway.url}/api/sessions/end`, { method: 'POST', headers, body }).catch(() => undefined)
      const hasBegun = (): boolean => readFileSync(join(place.state, 'ended-sessions.json'), 'utf8').includes(session)
      await eventually(hasBegun, (begun) => begun)
      for (let turn = 0; turn < round * 3; turn++) await new Promise(setImmediate)
      await kill(gateway.child)
      await ending
      gateway = await start()
      const client = await openClient(session)
      await eventually(
        () => readFileSync(join(place.state, 'ended-sessions.json'), 'utf8'),
        (text) => !text.includes('"purged":true'),
      )
      expect(await callText(client, 'sallyport_list_directory', {}), session).not.toContain('results')
    }
    expect(findCanary(place.state)).toEqual([])
  })

  it('stay until the retention is over if the session is ended without purging', async () => {
    const window = openWindow(place)
    await window.initialize()
    const handle = handleIn(await load(window))
    const ended = await command('sessions', 'end', 'local~2')
    expect(`${ended.stdout}${ended.stderr}`).toContain('What it has stored is removed after')
    expect(await page(window, handle, { lines: '1-2' })).toContain(CANARY)
    const purged = await command('sessions', 'end', 'local~2', '--purge')
    expect(`${purged.stdout}${purged.stderr}`).toMatch(/Its key is destroyed, and \d+ stored files .* removed/)
    expect(await page(window, handle, { lines: '1-2' })).toContain('no such result')
    await window.leave()
  })
})

describe(`a server of the kit alone (${promise('SEN-23')})`, () => {
  const FIXTURE = fileURLToPath(new URL('../fixtures/payroll-server.mjs', import.meta.url))
  const JWT = { secret: randomBytes(48).toString('base64url'), algorithms: ['HS256'], issuers: ['tests'] }

  function tokenOf(session: string): string {
    const exp = Math.floor(Date.now() / 1_000) + 3_600
    const claims = { iss: 'tests', sub: 'ada', session_id: session, exp }
    const encoded = [{ alg: 'HS256' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    return [...encoded, createHmac('sha256', JWT.secret).update(encoded.join('.')).digest('base64url')].join('.')
  }

  it('stores results encrypted, also when it is killed, with a key outside of its data', async () => {
    const [data, keys] = [join(folder.path, 'kit-data'), join(folder.path, 'kit-keys')]
    const start = async (): Promise<{ child: ChildProcess; url: string }> => {
      const env = { PATH: process.env.PATH, SALLYPORT_DATA: data, SALLYPORT_KEYS: keys, CANARY }
      const child = spawn(process.execPath, [FIXTURE], {
        env: { ...env, AUTH: JSON.stringify({ jwt: JWT }) },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [url] = await once(createInterface({ input: child.stdout as NonNullable<ChildProcess['stdout']> }), 'line')
      return { child, url: String(url) }
    }
    const open = (url: string): Promise<LegacyClient> =>
      LegacyClient.open(url, { authorization: `Bearer ${tokenOf('one')}` })
    let { child, url } = await start()
    const client = await open(url)
    const handle = handleIn(JSON.stringify(await client.call('report')))
    const writing = Array.from({ length: 20 }, () => client.call('report').catch(() => ({})))
    await Promise.race(writing)
    await kill(child)
    await Promise.all(writing)
    ;({ child, url } = await start())
    const again = await (await open(url)).call('sallyport_read_result', { handle, lines: '1900-1901' })
    expect(JSON.stringify(again)).toContain(CANARY)
    expect(readdirSync(data).toSorted()).toEqual(['keys-id', 'labels', 'workspaces'])
    expect([findCanary(data), findCanary(keys)]).toEqual([[], []])
    await endProcess(child)
  })
})
