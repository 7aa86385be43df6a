import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { cutText, maskSecrets, SallyportError } from '@sallyport/core'
import { imageOf, type ProgramServerConfig } from '../../config/config.ts'
import type { SandboxedProgram, ServerSandbox, WideProcess } from '../../sandbox/sandbox.ts'
import { GATEWAY_PERMIT, recheckPermit, usePermit } from '../permit.ts'
import {
  type Exit,
  type GracePeriods,
  MARK_VARIABLE,
  openProcessGroup,
  type ProcessGroup,
  type Watchdog,
} from '../processes/processes.ts'
import type { StderrTail } from '../stderr-tail.ts'
import type { EncodedRequest, Transport, TransportEvents } from '../transport.ts'
import { buildChildEnvironment } from './child-environment.ts'
import { findErrorSummaryLine } from './error-summary-line.ts'
import { readFairly } from './fair-reader.ts'
import { LineFramer } from './line-framer.ts'

export interface StdioTransportOptions {
  readonly config: ProgramServerConfig
  /** The environment of the gateway; only a small part of it is passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly mark: string
  readonly watchdog: Watchdog
  readonly stderr: StderrTail
  readonly explain?: Explain | undefined
  /** Further variables, created right before the program starts. The entry cannot override them. */
  readonly startVariables?: (() => Promise<Readonly<Record<string, string>>>) | undefined
  readonly gracePeriods?: GracePeriods
  /** Opens the sandbox that the program runs in; `undefined`: it runs like any other program of this user. */
  readonly openSandbox?:
    | ((env: Readonly<Record<string, string>>, onTooWide: () => void) => Promise<ServerSandbox>)
    | undefined
  /** For a program that runs without the sandbox that others have. Called before it starts; throws if it must not. */
  readonly addUnsandboxed?: ((process: UnsandboxedProgram) => void) | undefined
  /** How many bytes may wait for a server that does not read its stdin. */
  readonly maxQueuedBytes?: number
}

/** A program that cannot be narrowed. */
type UnsandboxedProgram = Pick<WideProcess, 'retire' | 'kill' | 'closed'>

const MAX_QUEUED_BYTES = 64 * 1_024 * 1_024
/** A dying program closes its pipes first: we wait this long for the exit code, which says more. */
const EXIT_TIMEOUT_MS = 250
/** The cost of handling a line, compared with scanning a byte. */
const LINE_COST = 200

/** A server that is our child process: one message per line, requests on its stdin, answers on its stdout. */
export class StdioTransport implements Transport {
  readonly #options: StdioTransportOptions
  #opening: Promise<ProcessGroup> | undefined
  #group: ProcessGroup | undefined
  #events: TransportEvents | undefined
  /** Why we gave it up, if it did not exit first. */
  #giveUpReason: string | undefined
  #outbox: Outbox | undefined
  #sandbox: ServerSandbox | undefined
  #startingSandbox: ProcessGroup | undefined
  #closingSandbox: Promise<void> | undefined
  #closed = false

  constructor(options: StdioTransportOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#group?.exit === undefined ? this.#group?.pid : undefined
  }

  async open(events: TransportEvents): Promise<void> {
    if (this.#closed || this.#opening !== undefined) {
      throw new SallyportError('INTERNAL', 'A transport was opened twice, or after it was closed.')
    }
    this.#events = events
    this.#opening = this.#start()
    const group = await this.#opening
    if (!this.#closed) return
    await group.end()
    throw new SallyportError(
      'UPSTREAM_UNAVAILABLE',
      `The server "${this.#options.config.id}" was stopped while it started.`,
    )
  }

  request(request: EncodedRequest): void {
    const outbox = this.#getOutbox()
    if (outbox instanceof Outbox) return outbox.request(request)
    // In a later turn: the caller may still be registering the request.
    queueMicrotask(() => this.#activeEvents()?.onFailure(request.id, outbox))
  }

  send(text: string): void {
    const outbox = this.#getOutbox()
    if (outbox instanceof Outbox) outbox.send(text)
    else this.#activeEvents()?.onWarning(`A message was dropped: ${outbox.message}`)
  }

  /** A request that was not written yet is not written at all. */
  abandon(id: number): boolean {
    return this.#outbox?.abandon(id) ?? false
  }

  setProtocolVersion(): void {
    // Only HTTP repeats the version.
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#outbox?.close()
    // In a sandbox that is not ready yet, nothing of the program runs that could end by itself.
    if (this.#startingSandbox !== undefined) this.#startingSandbox.child.kill('SIGKILL')
    const group = await this.#opening?.catch(() => undefined)
    await group?.end()
    await this.#closingSandbox
  }

  async #start(): Promise<ProcessGroup> {
    const { config, environment, mark, watchdog, gracePeriods, startVariables, openSandbox } = this.#options
    const own = startVariables ? { ...config.env, ...(await startVariables()) } : config.env
    if (openSandbox) {
      // Inside, it would be created.
      if (folderProblem(config)) throw spawnFailure(config, undefined, undefined)
      return this.#startInside(await openSandbox({ ...own, [MARK_VARIABLE]: mark }, this.#onTooWide))
    }
    const env = buildChildEnvironment({ inherited: environment, own, mark })
    const { command, args, cwd } = config
    const onClosed = this.#addUnsandboxed()
    try {
      const group = await openProcessGroup({ command, args, cwd, env, mark, watchdog, gracePeriods })
      this.#attach(group)
      void group.exited.then(() => group.end()).then(onClosed)
      return group
    } catch (error) {
      onClosed?.()
      throw spawnFailure(config, env.PATH, error)
    }
  }

  readonly #onTooWide = (): void => this.#activeEvents()?.onTooWide?.()

  /** Returns what must be called when nothing of the program is alive. */
  #addUnsandboxed(): (() => void) | undefined {
    const { addUnsandboxed } = this.#options
    if (addUnsandboxed === undefined) return undefined
    let onClosed: (() => void) | undefined
    const closed = new Promise<void>((resolve) => {
      onClosed = resolve
    })
    const kill = (reason: string): void => {
      this.#giveUpReason ??= reason
      void this.#group?.kill()
    }
    addUnsandboxed({ closed, kill, retire: this.#onTooWide })
    return onClosed
  }

  /** The program gets nothing before the sandbox has been checked from outside. */
  async #startInside(sandbox: ServerSandbox): Promise<ProcessGroup> {
    const { config, mark, watchdog, gracePeriods } = this.#options
    this.#sandbox = sandbox
    let program: SandboxedProgram | undefined
    let output: StderrTail | undefined
    try {
      const { command, args, env, descriptors } = sandbox.launch
      const group = await openProcessGroup({
        ...{ command, args, descriptors, mark, watchdog, gracePeriods, cwd: undefined },
        env: { ...env, [MARK_VARIABLE]: mark },
        terminate: () => program?.signal('SIGTERM', 'group'),
      })
      this.#closingSandbox = group.exited
        .then(() => sandbox.close())
        .catch(() => this.#activeEvents()?.onWarning('Its sandbox could not be removed.'))
      output = this.#attach(group)
      this.#startingSandbox = group
      if (this.#closed) group.child.kill('SIGKILL')
      program = await sandbox.admit(group.child)
      return group
    } catch (error) {
      await this.#group?.end()
      await sandbox.close()
      throw error instanceof SallyportError ? withOutput(error, output) : spawnFailure(config, undefined, error)
    } finally {
      this.#startingSandbox = undefined
    }
  }

  /** Returns what it writes to stderr. */
  #attach(group: ProcessGroup): StderrTail {
    this.#group = group
    this.#outbox = new Outbox(group.stdin, (id, refusal) => this.#activeEvents()?.onFailure(id, refusal))
    const { stderr, explain } = this.#options
    // Several processes of a server write into `stderr`, and so do we.
    const own = stderr.forProcess()
    this.#readOutput(group)
    group.stdin.on('error', () => this.#giveUp(group, 'closed its stdin'))
    group.stdout.on('end', () => this.#giveUp(group, 'closed its stdout'))
    group.stderr.on('error', () => {})
    readFairly(group.stderr, (chunk) => {
      stderr.push(chunk)
      own.push(chunk)
      return chunk.length
    })
    void group.closed.then((exit) => {
      stderr.end()
      const what = this.#sandbox?.endReason ?? this.#giveUpReason ?? describeExit(exit)
      this.#activeEvents()?.onClose(describeLoss({ what, stderr: own, explain }))
    })
    return own
  }

  #readOutput(group: ProcessGroup): void {
    const framer = new LineFramer({
      maxMessageBytes: this.#options.config.maxMessageBytes,
      events: {
        onFrame: (frame) => this.#activeEvents()?.onFrame(frame, undefined),
        onFailure: (id, error) => this.#activeEvents()?.onFailure(id, error),
        onWarning: (text) => this.#activeEvents()?.onWarning(text),
      },
    })
    readFairly(group.stdout, (chunk) => chunk.length + framer.push(chunk) * LINE_COST)
    group.stdout.on('end', () => framer.end())
    group.stdout.on('error', () => {})
  }

  /** After `close` there are no more events. */
  #activeEvents(): TransportEvents | undefined {
    return this.#closed ? undefined : this.#events
  }

  /** The outbox, or why nothing can be written. */
  #getOutbox(): Outbox | SallyportError {
    const { config, maxQueuedBytes: limit = MAX_QUEUED_BYTES } = this.#options
    if (!this.#outbox || !this.#group?.stdin.writable)
      return new SallyportError('UPSTREAM_GONE', `The server "${config.id}" is gone.`)
    const { length } = this.#outbox
    if (length <= limit) return this.#outbox
    const what = `The server "${config.id}" does not read its stdin: ${length} bytes are waiting, at most ${limit} are allowed.`
    return new SallyportError('OVERLOADED', what, { hint: 'Try again later; restart the server if it stays so.' })
  }

  /** Without stdin or stdout the connection is useless. */
  #giveUp(group: ProcessGroup, reason: string): void {
    void group.exitsWithin(EXIT_TIMEOUT_MS).then((exited) => {
      if (!exited) this.#giveUpReason ??= reason
      return group.end()
    })
  }
}

/** A request, or with no id a message of the gateway itself. */
interface QueuedMessage {
  readonly id: number | undefined
  readonly text: string
  readonly currentText?: EncodedRequest['currentText']
  readonly call: Pick<EncodedRequest['call'], 'permit'>
}

const GATEWAY_CALL = { permit: GATEWAY_PERMIT }

/** How much is given to the pipe at once: the rest waits here, where it can still be stopped. */
const MAX_BATCH = 65_536

/** Messages on their way to the stdin of a server. Those of one turn leave in one write. */
class Outbox {
  readonly #stdin: Writable
  readonly #onRefused: (id: number, error: SallyportError) => void
  #queue: QueuedMessage[] = []
  /** How many entries of the queue were taken already. */
  #taken = 0
  /** Requests whose permits are being rechecked. */
  readonly #rechecking = new Set<QueuedMessage>()
  #length = 0
  #isFlushing = false
  /** The pipe could not take everything at once: until the queue is empty, each write is one message. */
  #wasFull = false

  constructor(stdin: Writable, onRefused: (id: number, error: SallyportError) => void) {
    this.#stdin = stdin
    this.#onRefused = onRefused
  }

  /** The length of everything that waits, here and in the pipe. */
  get length(): number {
    return this.#stdin.writableLength + this.#length
  }

  request(request: EncodedRequest): void {
    this.#length += request.text.length
    this.#enqueue(request)
  }

  send(text: string): void {
    this.#length += text.length
    this.#enqueue({ id: undefined, text, call: GATEWAY_CALL })
  }

  /** True if the request was not written yet: then it is not written at all. */
  abandon(id: number): boolean {
    const isMeant = (message: QueuedMessage): boolean => message.id === id
    const at = this.#queue.findIndex((message, index) => index >= this.#taken && isMeant(message))
    const found = at < 0 ? [...this.#rechecking].find(isMeant) : this.#queue[at]
    if (found === undefined) return false
    if (at < 0) this.#rechecking.delete(found)
    else this.#queue.splice(at, 1)
    this.#length -= found.text.length
    return true
  }

  /** No further request is sent; notifications still are. */
  close(): void {
    this.#queue = this.#queue.filter(({ id }, index) => index >= this.#taken && id === undefined)
    this.#taken = 0
    this.#rechecking.clear()
  }

  #enqueue(message: QueuedMessage): void {
    this.#queue.push(message)
    if (this.#isFlushing) return
    this.#isFlushing = true
    process.nextTick(() => this.#flush())
  }

  /** Until the queue is empty, or the pipe is full. */
  #flush(): void {
    const stdin = this.#stdin
    while (this.#queue.length > 0 && stdin.writableLength === 0 && stdin.writable) {
      const batch = this.#takeBatch()
      if (batch !== '') stdin.write(batch)
      this.#wasFull = stdin.writableLength > 0 || (this.#wasFull && this.#queue.length > 0)
    }
    this.#isFlushing = stdin.writableLength > 0
    // It continues once the pipe has taken everything before; a broken pipe takes nothing more.
    if (this.#isFlushing) stdin.write('', (error) => error ?? this.#flush())
  }

  /** Only messages whose permit is valid at this very moment. */
  #takeBatch(): string {
    const maxLength = this.#wasFull ? 1 : MAX_BATCH
    let batch = ''
    while (this.#taken < this.#queue.length && batch.length < maxLength) {
      const message = this.#queue[this.#taken++] as QueuedMessage
      if (usePermit(message.call.permit)) {
        this.#length -= message.text.length
        batch += `${message.currentText?.() ?? message.text}\n`
      } else this.#recheck(message)
    }
    this.#dropTaken()
    return batch
  }

  /** Not one by one: a long queue would be copied each time. */
  #dropTaken(): void {
    if (this.#taken * 2 < this.#queue.length) return
    this.#queue = this.#queue.slice(this.#taken)
    this.#taken = 0
  }

  /** It goes to the end of the queue, where its permit is checked once more. */
  #recheck(message: QueuedMessage): void {
    this.#rechecking.add(message)
    void recheckPermit(message.call.permit).then((refusal) => {
      if (!this.#rechecking.delete(message)) return
      if (!refusal) return this.#enqueue(message)
      this.#length -= message.text.length
      if (message.id !== undefined) this.#onRefused(message.id, refusal)
    })
  }
}

/** Explains the last output of a program, and what to do; `undefined` if it is not known. */
type Explain = (lines: readonly string[]) => string | undefined

interface ProcessLoss {
  readonly what: string
  /** What this process wrote. */
  readonly stderr: StderrTail
  readonly explain?: Explain | undefined
}

const REASON_LENGTH = 300

/** Why a program is gone: how it ended, and what it wrote about that. */
export function describeLoss({ what, stderr, explain }: ProcessLoss): string {
  const lines = stderr.tail()
  const meaning = explain?.(lines)
  if (meaning !== undefined) return `${what}: ${meaning}`
  const line = findErrorSummaryLine(lines)
  return line === undefined ? what : cutText(`${what}: ${line.trim().replace(/\.$/, '')}`, REASON_LENGTH)
}

/** A sandbox that cannot be created says on stderr why. */
function withOutput({ code, message, hint }: SallyportError, output: StderrTail | undefined): SallyportError {
  const what = message.replace(/\.$/, '')
  const text = output === undefined ? what : describeLoss({ what, stderr: output, explain: undefined })
  return new SallyportError(code, `${text}.`, { ...(hint !== undefined && { hint }) })
}

export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exited with code ${code}` : `was killed by ${signal}`
}

const INSTALL_DOCKER = 'Install Docker with its MCP plugin (https://docs.docker.com/get-started/get-docker/)'

interface Explanation {
  readonly what: string
  readonly hint: string
}

/**
 * Why a server could not be started, and what to do. The system's error is not attached as the cause: node adds the
 * arguments to it and prints the invalid value, and both may contain secrets.
 */
export function spawnFailure(
  config: ProgramServerConfig,
  searchPath: string | undefined,
  error: unknown,
): SallyportError {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? 'unknown error'
  const { what, hint } = folderProblem(config) ?? explainCode(config, searchPath, code)
  // The name of a program or a folder may come from a variable.
  const shown = maskSecrets(`The server "${config.id}" could not be started: ${what}.`, config.fromVariables)
  return new SallyportError('UPSTREAM_UNAVAILABLE', shown, { hint })
}

/** The system reports a missing folder and a missing program alike. */
function folderProblem(config: ProgramServerConfig): Explanation | undefined {
  const { cwd } = config
  if (cwd === undefined || imageOf(config) !== undefined || cwd.includes('\0')) return undefined
  const folder = statSync(cwd, { throwIfNoEntry: false })
  if (folder?.isDirectory()) return undefined
  return {
    what: `its working folder ${cwd} ${folder === undefined ? 'does not exist' : 'is not a folder'}`,
    hint: 'Create it, or correct `cwd`.',
  }
}

function explainCode(config: ProgramServerConfig, searchPath: string | undefined, code: string): Explanation {
  switch (code) {
    case 'ENOENT':
      return notFound(config, searchPath)
    case 'EACCES':
      return {
        what: `the program ${config.command} may not be executed by this user`,
        hint: 'Make it executable (chmod +x), or name its interpreter as `command` and the file in `args`.',
      }
    case 'ERR_INVALID_ARG_VALUE':
      return {
        what: 'its command, args, env or cwd is empty or holds a NUL character',
        hint: 'Correct the entry in config.yaml.',
      }
    case 'E2BIG':
      return { what: 'its args and env are longer than the system allows', hint: 'Pass long values in a file.' }
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return {
        what: `the system has no room for another process (${code})`,
        hint: 'Stop other programs, or raise the limits on processes and open files (ulimit -u, ulimit -n).',
      }
    default:
      return { what: `the system refused to run ${config.command} (${code})`, hint: 'Try the same command in a shell.' }
  }
}

function notFound({ kind, command, cwd }: ProgramServerConfig, searchPath: string | undefined): Explanation {
  if (!command.includes('/')) {
    const where = searchPath === undefined ? 'the system’s default PATH' : `PATH (${cutText(searchPath, 500)})`
    return {
      what: `there is no program ${command} in ${where}`,
      hint: `${kind === 'docker-gateway' ? INSTALL_DOCKER : 'Install it'}, or give its full path as \`command\`.`,
    }
  }
  const file = path.resolve(cwd ?? '.', command)
  if (!existsSync(file)) return { what: `there is no program ${file}`, hint: 'Install it, or correct `command`.' }
  return {
    what: `the interpreter that the first line of ${file} names does not exist`,
    hint: 'Install that interpreter, or name another as `command` and the file in `args`.',
  }
}
