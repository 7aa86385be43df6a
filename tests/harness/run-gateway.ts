import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
export const MAIN = join(REPOSITORY, 'packages/gateway/dist/cli/main.js')

/** A home and a state of its own, gone when the test is over. */
export interface Place {
  readonly home: string
  readonly state: string
  writeConfig(config: object | string): void
  remove(): void
}

export function makePlace(config: object | string = {}): Place {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-test-'))
  const home = mkdtempSync(join(root, 'home-'))
  const state = join(root, 'state')
  const writeConfig = (content: object | string): void =>
    replaceFile(join(home, 'config.yaml'), typeof content === 'string' ? content : JSON.stringify(watched(content)))
  writeConfig(config)
  return { home, state, writeConfig, remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }) }
}

/** At one moment, as an editor saves it: a gateway that watches the file must not find it half written. */
export function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

/**
 * What tests need unless they say otherwise: rules are not enforced, so that no call waits for approval, and lists and
 * calls wait for servers that are not known yet, since on a busy machine their start takes longer than usual.
 */
const watched = ({ gateway = {}, ...config }: { readonly gateway?: object }): object => ({
  governance: { enforce: false },
  gateway: { startup_wait: '50s', ...gateway },
  ...config,
})

export interface RunningGateway extends Place {
  readonly url: string
  readonly mcp: string
  readonly child: ChildProcess
  /** The tokens of the operator and the local agent, in clear text. */
  token(role: 'operator' | 'agent'): string
  /** Every record of the log so far. */
  records(): readonly Record<string, unknown>[]
  stderr(): string
  /** Stops it normally and removes its files. */
  stop(): Promise<void>
}

export interface RunOptions {
  readonly config?: object | string
  readonly place?: Place
  readonly args?: readonly string[]
  /** A free one, unless the home is to choose. */
  readonly port?: 'free' | 'of the home'
  readonly env?: Readonly<Record<string, string>>
}

/** Starts the built command line on a free port and waits until it serves. */
export async function runGateway({
  config = {},
  place = makePlace(config),
  args = ['--no-auth'],
  port = 'free',
  env = {},
}: RunOptions = {}): Promise<RunningGateway> {
  const child = spawn(
    process.execPath,
    [
      MAIN,
      'serve',
      '--home',
      place.home,
      '--state',
      place.state,
      ...(port === 'free' ? ['--port', '0'] : []),
      '--json',
      ...args,
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    },
  )
  let words = ''
  child.stderr?.on('data', (text) => {
    words += String(text)
  })
  const banner = await firstLine(child, () => words)
  const { url: mcp } = JSON.parse(banner) as { url: string }
  return {
    ...place,
    url: mcp.replace(/\/mcp$/, ''),
    mcp,
    child,
    token: (role) => readFileSync(join(place.state, 'tokens', role), 'utf8').trim(),
    records: () => readRecords(place.state),
    stderr: () => words,
    stop: async () => {
      await endProcess(child)
      place.remove()
    },
  }
}

/** A kill can cut a record short that was being written across two pages. It was never acknowledged, and the next start removes it. */
export function readRecords(state: string): readonly Record<string, unknown>[] {
  const folder = join(state, 'logs')
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

function firstLine(child: ChildProcess, words: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk) => {
      text += String(chunk)
      const end = text.indexOf('\n')
      if (end >= 0) resolve(text.slice(0, end))
    })
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code} before it served:\n${words()}`)))
  })
}
