import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { SallyportError } from '@sallyport/core'
import { syncBackChanges, writeOverlay } from '../../agents/agents.ts'
import { stateUnusable } from '../../disk/disk.ts'
import type { LocalTokens } from '../../sessions/sessions.ts'
import type { CliContext } from '../cli-context.ts'
import type { FoundHome } from '../find-home.ts'
import { isTokenVariable, withoutTokens } from '../token-variable.ts'
import { type GatewayLease, openGatewayLease } from './gateway-lease.ts'
import type { LaunchPlan } from './launch-plan.ts'
import type { PlannedWindow } from './planned-window.ts'
import {
  createRunFolder,
  findAbandonedRuns,
  type RunFolder,
  readRecordedTokens,
  recordToken,
  removeRunFolder,
  writeLaunchToken,
} from './run-folder.ts'

export interface Launch extends Pick<FoundHome, 'home' | 'state'> {
  readonly context: CliContext
  readonly run: RunFolder
  readonly plan: LaunchPlan
}

/** Runs an agent as planned. Resolves to the agent's exit code. */
export function launch(given: Launch, identity: LaunchIdentity): Promise<number> {
  return withSignals((signals) =>
    given.plan.windows.length === 0
      ? withRunFolder(given, () => startAgent(given, { signals, tokens: [] }))
      : launchWithGateway(given, identity, signals),
  )
}

async function launchWithGateway(given: Launch, identity: LaunchIdentity, signals: SignalForwarder): Promise<number> {
  const { context, home, state } = given
  const environment = withoutModelKeys({ ...context.environment })
  const hold = await openGatewayLease({ state, home, cwd: context.cwd, environment })
  try {
    return await withRunFolder(given, () =>
      withTokens({ ...given, hold }, identity, (tokens) => startAgent(given, { signals, tokens })),
    )
  } finally {
    hold.close()
  }
}

type UseTokens = (tokens: readonly LaunchToken[]) => Promise<number>

/** One for each window, which end with the run, however many were made before something failed. */
async function withTokens(
  { hold, state, run, plan }: Launch & { readonly hold: GatewayLease },
  identity: LaunchIdentity,
  use: UseTokens,
): Promise<number> {
  const tokens: LaunchToken[] = []
  try {
    for (const window of plan.windows) tokens.push(await mintLaunchToken(hold, run, { ...identity, window }))
    return await use(tokens)
  } finally {
    for (const { id } of tokens) await revokeLaunchToken(hold, state, id)
  }
}

async function withSignals(use: (signals: SignalForwarder) => Promise<number>): Promise<number> {
  const signals = new SignalForwarder()
  try {
    return await use(signals)
  } finally {
    signals.close()
  }
}

/** The folder stands before the token does, so that a token is never without a place from which it is swept. */
async function withRunFolder({ state, run }: Launch, use: () => Promise<number>): Promise<number> {
  await removeAbandonedRuns(state)
  createRunFolder(run)
  try {
    return await use()
  } finally {
    removeRunFolder(run)
  }
}

interface StartOptions {
  readonly signals: SignalForwarder
  readonly tokens: readonly LaunchToken[]
}

async function startAgent({ context, run, plan }: Launch, { signals, tokens }: StartOptions): Promise<number> {
  writeRunFiles(run, plan, tokens)
  if (signals.earlySignal) return exitCodeFor(signals.earlySignal)
  // A token of `connect` may give more than this run's profile does.
  const environment = { ...withoutTokens(context.environment), ...plan.environment }
  const { program, args } = plan
  try {
    return await runAgent({ program, args, environment, cwd: context.cwd, signals })
  } finally {
    for (const path of syncBackChanges(plan, run.path))
      context.process.stderr.write(`! The agent wrote ${path}, which could not be kept.\n`)
  }
}

function writeRunFiles(run: RunFolder, plan: LaunchPlan, tokens: readonly LaunchToken[]): void {
  try {
    for (const { window, token } of tokens) writeLaunchToken(run, window, token)
    writeOverlay(plan, run.path)
  } catch (cause) {
    throw stateUnusable(run.path, cause)
  }
}

/** Variables with which agents pay for their model. No server behind the gateway has any business with them. */
const MODEL_KEYS: ReadonlySet<string> = new Set([
  'AMP_API_KEY',
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'AWS_BEARER_TOKEN_BEDROCK',
  'AZURE_OPENAI_API_KEY',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CODEX_API_KEY',
  'COPILOT_GITHUB_TOKEN',
  'COPILOT_PROVIDER_API_KEY',
  'COPILOT_PROVIDER_BEARER_TOKEN',
  'CURSOR_API_KEY',
  'DASHSCOPE_API_KEY',
  'DEEPSEEK_API_KEY',
  'FACTORY_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'GROQ_API_KEY',
  'KILO_API_KEY',
  'KIMI_API_KEY',
  'MISTRAL_API_KEY',
  'MOONSHOT_API_KEY',
  'OPENAI_API_KEY',
  'OPENCODE_API_KEY',
  'OPENROUTER_API_KEY',
  'QWEN_API_KEY',
  'XAI_API_KEY',
])

/** The environment of a gateway that a run starts. */
function withoutModelKeys(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !MODEL_KEYS.has(name) && !isTokenVariable(name)),
  )
}

interface AgentCommand {
  readonly program: string
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly signals: SignalForwarder
}

const STOPPED_CHECK_MS = 250

/** Runs the agent in our place: same terminal, same streams, same folder. Resolves to its exit code, 128 + n for a signal. */
async function runAgent({ program, args, environment, cwd, signals }: AgentCommand): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...environment }, cwd })
  signals.forwardTo(child)
  const followed = signals.hasTerminal ? setInterval(() => stopWithChild(child), STOPPED_CHECK_MS) : undefined
  try {
    return await waitForExit(child, program)
  } finally {
    clearInterval(followed)
  }
}

function waitForExit(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      reject(new SallyportError('AGENT_MISSING', `${program} could not be started: ${cause.message}.`, { cause }))
    })
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : exitCodeFor(signal)))
  })
}

/** An agent that stops itself on Ctrl-Z stops alone; the shell that waits for us would never notice. */
function stopWithChild({ pid }: ChildProcess): void {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1')
    if (line.slice(line.lastIndexOf(')') + 2).startsWith('T')) process.kill(process.pid, 'SIGSTOP')
  } catch {
    // Gone, or a system without process files.
  }
}

/** A terminal sends these to its whole foreground group, so the agent has them already; twice may mean "now, at once". */
const TERMINAL_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']
const FORWARDED_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', ...TERMINAL_SIGNALS]

const exitCodeFor = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** Takes the signals that would end this process, for as long as there is something to put away. */
class SignalForwarder {
  readonly hasTerminal: boolean = hasControllingTerminal()
  #child: ChildProcess | undefined
  #earlySignal: NodeJS.Signals | undefined
  readonly #forward = (signal: NodeJS.Signals): void => {
    if (this.#child === undefined) this.#earlySignal ??= signal
    else if (!this.hasTerminal || !TERMINAL_SIGNALS.includes(signal)) this.#child.kill(signal)
  }

  constructor() {
    for (const signal of FORWARDED_SIGNALS) process.on(signal, this.#forward)
  }

  /** What came before there was anybody to pass it on to. */
  get earlySignal(): NodeJS.Signals | undefined {
    return this.#earlySignal
  }

  forwardTo(child: ChildProcess): void {
    this.#child = child
  }

  close(): void {
    for (const signal of FORWARDED_SIGNALS) process.off(signal, this.#forward)
  }
}

function hasControllingTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

interface LaunchIdentity {
  readonly agent: string
  readonly profile: string
  /** The one that the runs of its profile share; one of its own without. */
  readonly session: string | undefined
  /** A person sits in front of the agent, and is shown what a server asks. */
  readonly attended: boolean
  /** What gives the agent servers that are not governed. */
  readonly otherServers: readonly string[]
}

interface LaunchTokenRequest extends LaunchIdentity {
  readonly window: PlannedWindow
}

interface LaunchToken {
  readonly id: string
  /** The key of the window that it is for. */
  readonly window: string
  /** The clear text. */
  readonly token: string
}

const defaultSession = ({ id }: RunFolder): string => `run:${id}`

async function mintLaunchToken(
  hold: GatewayLease,
  run: RunFolder,
  { agent, profile, session = defaultSession(run), window, attended, otherServers: others }: LaunchTokenRequest,
): Promise<LaunchToken> {
  const { key, tools } = window
  const wish = { agent, profile, session, attended, ...(tools && { tools }) }
  const { token, record } = await hold.mint({ ...wish, ...(others.length > 0 && { otherServers: others }) })
  recordToken(run, record.id)
  return { id: record.id, window: key, token }
}

/** Also when the gateway is gone: the files are the truth. */
async function revokeLaunchToken(hold: GatewayLease, state: string, id: string): Promise<void> {
  try {
    await hold.revoke(id)
  } catch {
    const tokens = await openTokens(state)
    await tokens.revoke(id).finally(() => tokens.close())
  }
}

/** What runs left behind that were killed. First the token and then the folder by which it is found. */
async function removeAbandonedRuns(state: string): Promise<void> {
  const abandoned = findAbandonedRuns(state)
  if (abandoned.length === 0) return
  const tokens = await openTokens(state)
  try {
    for (const run of abandoned) {
      const noted = readRecordedTokens(run)
      const left = tokens.list().filter(({ id, session }) => noted.includes(id) || session === defaultSession(run))
      for (const { id } of left) await tokens.revoke(id)
      removeRunFolder(run)
    }
  } finally {
    tokens.close()
  }
}

/** Loaded when it is needed: every run waits for what it does not need. */
async function openTokens(state: string): Promise<LocalTokens> {
  const { openLocalTokens } = await import('../../sessions/sessions.ts')
  return openLocalTokens({ state })
}
