import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { inTerminal } from '../harness/in-terminal.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { errorOf } from '../harness/run-command.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { canSandbox, makeUserFolder, run, SALLYPORT, type Start, sandboxed, start, USERS } from './sandbox-world.ts'

const AVAILABLE = canSandbox()
const FILESYSTEM_SERVER = join(REPOSITORY, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')

describe.skipIf(!AVAILABLE).each(USERS)(`run-sandboxed as %s (${promise('SEN-18')}, ${promise('SEN-11')})`, (user) => {
  const folder = makeUserFolder(user)
  const options: Start = { user, folder: folder.path }
  afterAll(() => folder.remove())

  /** A folder that the user may write. */
  const makeFolder = (name: string): string => {
    const path = join(folder.path, name)
    const { uid, gid } = statSync(folder.path)
    mkdirSync(path)
    chownSync(path, uid, gid)
    return path
  }
  /** A file that nothing else has, for finding processes. */
  const unique = (): string => `10000.${BigInt(`0x${randomBytes(6).toString('hex')}`)}`

  it('passes stdin, stdout, stderr and the exit code through', async () => {
    const command = sandboxed([], ['sh', '-c', 'cat; echo words >&2; exit 7'])
    expect(await run(command, { ...options, input: 'input' })).toEqual({ code: 7, stdout: 'input', stderr: 'words\n' })
  })

  it('reports a program that a signal ended as 128 + n', async () => {
    expect(await run(sandboxed([], ['sh', '-c', 'kill -9 $$']), options)).toMatchObject({ code: 137 })
    expect(await run(sandboxed([], ['sh', '-c', 'kill -15 $$']), options)).toMatchObject({ code: 143 })
  })

  it('passes signals on', async () => {
    const command = sandboxed(
      [],
      ['sh', '-c', 'trap "echo ended; exit 3" TERM; echo ready; while :; do sleep 0.05; done'],
    )
    const child = start(command, options)
    let stdout = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (text.includes('ready')) child.kill('SIGTERM')
    })
    expect(await once(child, 'close')).toEqual([3, null])
    expect(stdout).toBe('ready\nended\n')
  })

  it('passes Ctrl-C in a terminal to the program and what it started', async () => {
    const script = [
      "process.on('SIGINT', () => {});",
      "require('node:child_process').spawn('sleep', ['1000'], { stdio: 'ignore' })",
      ".on('spawn', () => console.log('ready'))",
      ".on('exit', (code, signal) => { console.log('ended by', signal); process.exitCode = 4 })",
    ].join('')
    const child = start(inTerminal(sandboxed([], [process.execPath, '-e', script])), options)
    let stdout = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (text.includes('ready')) child.stdin?.write('\u0003')
    })
    expect(await once(child, 'close')).toEqual([4, null])
    expect(stdout).toContain('ended by SIGINT')
  })

  it(`leaves no process behind, however it ends (${promise('SEN-14')})`, async () => {
    const tag = unique()
    const leaving = `setsid sleep ${tag} & (setsid sleep ${tag} &) ; sleep 0.1`
    expect(await run(sandboxed([], ['sh', '-c', leaving]), options)).toMatchObject({ code: 0 })
    expect(processesWith(tag)).toEqual([])

    const temporary = makeFolder('temporary')
    const child = start(sandboxed([], ['sh', '-c', `${leaving}; echo ready; sleep ${tag}`]), {
      ...options,
      env: { TMPDIR: temporary },
    })
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    expect(processesWith(tag).length).toBeGreaterThan(3)
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(
      await eventually(
        () => processesWith(tag),
        (left) => left.length === 0,
      ),
    ).toEqual([])
    expect(readdirSync(temporary)).toEqual([])
  })

  it('shows a script its project, and starts it where it was named', async () => {
    const project = makeFolder('project')
    mkdirSync(join(project, 'lib'))
    writeFileSync(join(project, 'package.json'), '{"type":"module"}')
    writeFileSync(join(project, 'lib/answer.js'), 'export const answer = 42\n')
    writeFileSync(
      join(project, 'server.js'),
      'import { answer } from "./lib/answer.js"\nconsole.log(answer, process.cwd())\n',
    )
    const started = await run(sandboxed([], ['node', './server.js']), { ...options, cwd: project })
    expect(started).toMatchObject({ code: 0, stdout: `42 ${project}\n` })
    const elsewhere = await run(sandboxed([], ['node', join(project, 'server.js')]), options)
    expect(elsewhere).toMatchObject({ code: 0, stdout: '42 /workspace\n' })
  })

  it('writes to the workspace and to mounts with :rw, whatever their names are', async () => {
    const [workspace, data, odd] = ['workspace', 'data', 'odd \\ "\'$(id)\n🙂 é'].map(makeFolder) as [
      string,
      string,
      string,
    ]
    const script = 'echo a >new; echo b >/data/new; echo c >"$1/new"; echo "$?"; ls -A "$1"'
    const flags = ['--workspace', workspace, '--mount', `${data}:/data:rw`, '--mount', odd]
    const { stdout } = await run(sandboxed(flags, ['sh', '-c', script, 'sh', odd]), { ...options, cwd: workspace })
    expect(readFileSync(join(workspace, 'new'), 'utf8')).toBe('a\n')
    expect(readFileSync(join(data, 'new'), 'utf8')).toBe('b\n')
    expect(stdout).toBe('2\n')
    expect(readdirSync(odd)).toEqual([])
  })

  it('runs a real MCP server that nobody here wrote', async () => {
    const workspace = makeFolder('served')
    const messages = [
      {
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      },
      { method: 'notifications/initialized' },
      {
        id: 2,
        method: 'tools/call',
        params: { name: 'write_file', arguments: { path: '/workspace/note', content: 'written inside' } },
      },
    ]
    const child = start(sandboxed(['--workspace', workspace], ['node', FILESYSTEM_SERVER, '/workspace']), options)
    for (const message of messages) child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    let stdout = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    await eventually(
      () => stdout,
      (text) => text.includes('"id":2'),
    )
    expect(readFileSync(join(workspace, 'note'), 'utf8')).toBe('written inside')
    child.stdin?.end()
    child.kill('SIGTERM')
    await once(child, 'close')
  })

  it('hides the homes and the keys of Sallyport in a folder that is shown, and refuses to mount them', async () => {
    const place = makeFolder('place')
    const home = join(place, '.sallyport')
    mkdirSync(home)
    writeFileSync(join(home, 'config.yaml'), 'secret: true')
    const seen = await run(sandboxed(['--workspace', '.'], ['sh', '-c', 'ls -A /workspace /workspace/.sallyport']), {
      ...options,
      cwd: place,
    })
    expect(seen).toMatchObject({ code: 0, stdout: '/workspace:\n.sallyport\n\n/workspace/.sallyport:\n' })
    const link = join(folder.path, 'link')
    symlinkSync(home, link)
    for (const path of [home, link, folder.path, '/', '/proc', '/run']) {
      const refused = await run(sandboxed(['--json', '--mount', path], ['true']), { ...options, cwd: place })
      expect(refused, path).toMatchObject({ code: 2, stdout: '' })
      expect(errorOf(refused).message, path).toContain('cannot be mounted')
    }
  })

  it.each([
    [['--mode', 'NOEN'], 'Did you mean "NONE"?'],
    [['--moed', 'NONE'], 'Did you mean "--mode"?'],
    [['--allow', 'a.example'], '--allow has no effect in network mode NONE'],
    [['--mode', 'PROXIED'], 'PROXIED needs the hosts'],
    [['--mode', 'PROXIED', '--allow', 'http://a.example'], '"http://a.example" is not a valid host'],
    [['--mount', '/usr:relative'], 'Nothing can be mounted at relative'],
    [['--mount', '/usr:/proc/x'], 'Nothing can be mounted at /proc/x'],
    [['--mount', '/usr:/a/../b'], 'Nothing can be mounted at /a/../b'],
    [['--mount', '/nowhere'], '/nowhere does not exist'],
    [['--mount', '/dev/null'], 'cannot be mounted'],
    [['--workspace', '/etc/hostname'], 'is not a folder'],
    [['--env', 'KEY=sk-secret'], '--env takes a name without a value'],
    [['--env', 'MISSING'], 'The variable MISSING is not set'],
  ])('refuses %j with what to do', async (flags, message) => {
    const refused = await run(sandboxed(flags, ['true']), options)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain(message)
    expect(refused.stderr).not.toContain('sk-secret')
  })

  it('says that a program does not exist', async () => {
    const refused = await run(sandboxed(['--json'], ['no-such-program']), options)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(refused).message).toContain('no-such-program cannot be started')
  })

  it('puts secrets into no command line', async () => {
    const command = sandboxed(['--env', 'TOKEN'], ['sh', '-c', 'echo "$TOKEN"; read -r line'])
    const secret = `secret-${randomBytes(8).toString('hex')}`
    const child = start(command, { ...options, env: { TOKEN: secret } })
    expect(String(await once(child.stdout as NodeJS.ReadableStream, 'data'))).toBe(`${secret}\n`)
    const lines = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(readCommandLine)
    expect(lines.filter((line) => line.includes('read -r line')).length).toBeGreaterThan(0)
    expect(lines.filter((line) => line.includes(secret))).toEqual([])
    child.stdin?.end()
    await once(child, 'close')
  })

  it('shows its examples first', async () => {
    const { code, stdout } = await run([...SALLYPORT, 'run-sandboxed', '--help'], options)
    expect({ code, first: stdout.split('\n')[0] }).toEqual({ code: 0, first: 'EXAMPLES' })
  })

  it('starts what npx has installed, without npx and without a network', async () => {
    const home = mkdtempSync(join(folder.path, 'home-'))
    const cached = join(home, '.npm/_npx/0123456789abcdef')
    const root = join(cached, 'node_modules/@acme/tool')
    mkdirSync(root, { recursive: true })
    writeFileSync(join(cached, 'package.json'), JSON.stringify({ _npx: { packages: ['@acme/tool@2'] } }))
    writeFileSync(join(root, 'package.json'), JSON.stringify({ name: '@acme/tool', bin: { other: 'run.js' } }))
    writeFileSync(join(root, 'run.js'), '#!/usr/bin/env node\nconsole.log("installed", process.argv.slice(2))\n', {
      mode: 0o755,
    })
    const { uid, gid } = statSync(folder.path)
    chownSync(home, uid, gid)
    const found = await run(sandboxed([], ['npx', '-y', '@acme/tool@2', 'a']), { ...options, env: { HOME: home } })
    expect(found).toMatchObject({ code: 0, stdout: "installed [ 'a' ]\n", stderr: '' })
  })
})

function readCommandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
