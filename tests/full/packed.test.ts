import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OTEL_PACKAGES } from '../../packages/gateway/src/telemetry/gateway-telemetry.ts'
import { packGateway } from '../harness/pack-packages.ts'
import { ROOT } from '../harness/repository.ts'
import { promise } from '../promises.ts'

const run = promisify(execFile)
/** Everything that `npm pack` of the gateway gives to somebody who has nothing but the registry. */
describe(`${promise('CLI-1')} the packed gateway`, () => {
  let root: string
  let tarball: string
  let folder: string

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'sallyport-packed-'))
    tarball = await packGateway(root)
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

  it('can be installed for the whole machine, with every package that it needs', async () => {
    const prefix = join(root, 'global')
    await run('npm', ['install', '--global', '--no-audit', '--no-fund', '--prefix', prefix, tarball], { cwd: root })
    const env = { PATH: process.env.PATH, HOME: join(root, 'home') }
    const { stdout } = await run(join(prefix, 'bin', 'sallyport'), ['tools', '--json'], { cwd: root, env })
    expect(stdout).toContain('list_directory')
  }, 180_000)

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

  it('says what to install if OpenTelemetry is configured, and works without it', async () => {
    const { child, words } = await serveDemo(sallyport(), folder, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
    await stop(child)
    expect(child.exitCode).toBe(0)
    expect(words()).toContain(`npm install ${OTEL_PACKAGES.join(' ')}`)
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

  it('can be compiled against, with every declaration checked', async () => {
    const source = `
      import { createGateway, SallyportError, type EmbeddedGateway } from 'sallyport'
      export const gateway: EmbeddedGateway = await createGateway({ state: 'state' })
      gateway.registerTool('sum', { permission: 'READ', description: '', input: { type: 'object' } }, () => 'text')
      export const code: string = new SallyportError('INTERNAL', 'text').code
    `
    writeFileSync(join(folder, 'program.mts'), source)
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules', '@types')]
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', ...types, 'program.mts']
    await run(join(ROOT, 'node_modules', '.bin', 'tsc'), options, { cwd: folder })
  })

  it('carries core and the kit in its own files, with no package that it lacks and nothing of the tests', () => {
    const own = join(folder, 'node_modules', 'sallyport')
    expect(existsSync(join(own, 'node_modules'))).toBe(false)
    expect(existsSync(join(folder, 'node_modules', '@sallyport'))).toBe(false)
    const files = readdirSync(own, { recursive: true, encoding: 'utf8' })
    const code = files.filter((file) => !file.startsWith('templates'))
    expect(code).toEqual(expect.arrayContaining(['LICENSE', 'dist/packages/core/index.js']))
    expect(code.filter((file) => /\.test|tsbuildinfo|(?<!\.d)\.ts$/.test(file))).toEqual([])
    const imports = code
      .filter((file) => /\.m?js$|\.d\.ts$/.test(file))
      .flatMap((file) => {
        const text = readFileSync(join(own, file), 'utf8')
        return [...text.matchAll(/^(?:import|export) [^'"]*['"](@sallyport\/[^'"]+)['"]/gm)].map(
          ([, name]) => `${file}: ${name}`,
        )
      })
    expect(imports).toEqual([])
  })

  it('has manifests that tools and compilers understand', async () => {
    const tool = (name: string): string => join(ROOT, 'node_modules', '.bin', name)
    await run(tool('publint'), ['run', '--strict', tarball])
    await run(tool('attw'), ['--profile', 'esm-only', tarball])
  })
})

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
