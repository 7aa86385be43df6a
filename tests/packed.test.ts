import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PACKAGES } from '../packages/gateway/src/telemetry/open-telemetry.ts'
import { ROOT } from './repository.ts'

const run = promisify(execFile)
const PACKED_PARTS = [
  'package.json',
  'README.md',
  'config.schema.json',
  'dist',
  'bin',
  'demo',
  'templates',
  'ui',
  'scripts',
]

/** Everything that `npm pack` of the gateway gives to somebody who has nothing but the registry. */
describe('the packed gateway', () => {
  let root: string
  let tarball: string
  let folder: string

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'sallyport-packed-'))
    tarball = await pack(join(root, 'repository'))
    folder = join(root, 'empty')
    mkdirSync(folder)
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, tarball], { cwd: folder })
  }, 180_000)
  afterAll(() => rmSync(root, { recursive: true, force: true }))

  const sallyport = (): string => join(folder, 'node_modules', '.bin', 'sallyport')

  it('says its version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'packages/gateway/package.json'), 'utf8'))
    const { stdout } = await run(sallyport(), ['--version'], { cwd: folder })
    expect(stdout.trim()).toBe(version)
  })

  it('serves the demonstration, and answers a call', async () => {
    const { child, ready } = await serveDemo(sallyport(), folder)
    try {
      const token = readFileSync(join(folder, '.sallyport-demo', 'tokens', 'agent'), 'utf8').trim()
      const { result } = await ask(ready.url, token, {
        method: 'tools/call',
        params: { name: 'sallyport_system_metrics_snapshot', arguments: {} },
      })
      expect(result?.content).toEqual([expect.objectContaining({ type: 'text' })])
    } finally {
      await stop(child)
    }
  })

  it('says what to install where OpenTelemetry is wanted, and serves without it', async () => {
    const { child, words } = await serveDemo(sallyport(), folder, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
    await stop(child)
    expect(child.exitCode).toBe(0)
    expect(words()).toContain(`npm install ${PACKAGES.join(' ')}`)
  })

  it('makes a new server', async () => {
    const { stdout } = await run(sallyport(), ['new', 'server', 'tea', '--json'], { cwd: folder })
    const { files } = JSON.parse(stdout)
    expect(files).toEqual(expect.arrayContaining(['.gitignore', 'package.json', 'src/server.ts']))
    expect(files.every((file: string) => existsSync(join(folder, 'tea', file)))).toBe(true)
  })

  it('can be imported by a program', async () => {
    const program = "const { createGateway } = await import('sallyport'); console.log(typeof createGateway)"
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: folder })
    expect(stdout.trim()).toBe('function')
  })

  it('brings core and kit along, and nothing of the tests', () => {
    const own = join(folder, 'node_modules', 'sallyport')
    expect(readdirSync(join(own, 'node_modules', '@sallyport')).sort()).toEqual(['core', 'kit'])
    expect(existsSync(join(own, 'LICENSE'))).toBe(true)
    const files = readdirSync(own, { recursive: true, encoding: 'utf8' })
    const code = files.filter((file) => !file.startsWith('templates'))
    expect(code.filter((file) => /\.test|tsbuildinfo|(?<!\.d)\.ts$/.test(file))).toEqual([])
  })

  it('has manifests that tools and compilers understand', async () => {
    const tool = (name: string): string => join(ROOT, 'node_modules', '.bin', name)
    await run(tool('publint'), ['run', '--strict', tarball])
    await run(tool('attw'), ['--profile', 'esm-only', tarball])
  })
})

/** Packs a copy: in the repository itself the copies of core and kit would stand in the way of tests that run beside this one. */
async function pack(repository: string): Promise<string> {
  for (const name of ['core', 'kit', 'gateway']) {
    const parts = PACKED_PARTS.filter((part) => existsSync(join(ROOT, 'packages', name, part)))
    for (const part of parts)
      cpSync(join(ROOT, 'packages', name, part), join(repository, 'packages', name, part), { recursive: true })
  }
  cpSync(join(ROOT, 'LICENSE'), join(repository, 'LICENSE'))
  const gateway = join(repository, 'packages', 'gateway')
  await run('npm', ['pack'], { cwd: gateway })
  expect(existsSync(join(gateway, 'node_modules', '@sallyport')), 'what was bundled is removed again').toBe(false)
  return join(gateway, readdirSync(gateway).find((name) => name.endsWith('.tgz')) ?? 'no tarball')
}

interface Served {
  readonly child: ChildProcess
  readonly ready: { readonly url: string }
  readonly words: () => string
}

/** With a home of its own: whatever goes wrong here, the user's own homes and states stay untouched. */
async function serveDemo(command: string, cwd: string, more: Record<string, string> = {}): Promise<Served> {
  const env = { PATH: process.env.PATH, HOME: join(cwd, 'home'), ...more }
  const args = ['serve', '--demo', '--port', '0', '--json']
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let words = ''
  child.stderr.on('data', (text) => {
    words += String(text)
  })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, ready: JSON.parse(line), words: () => words }
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

interface Answer {
  readonly result?: { readonly content?: readonly unknown[] }
}

/** A request of the modern era, which needs no handshake. */
async function ask(url: string, token: string, request: { method: string; params: object }): Promise<Answer> {
  const version = '2026-07-28'
  const meta = { 'io.modelcontextprotocol/protocolVersion': version, 'io.modelcontextprotocol/clientCapabilities': {} }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': version,
      'mcp-method': request.method,
      ...('name' in request.params && { 'mcp-name': String(request.params.name) }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request, params: { ...request.params, _meta: meta } }),
  })
  return (await response.json()) as Answer
}
