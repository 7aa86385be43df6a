import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { ERRORS, formatDuration, isJsonObject, parseDuration, SallyportError } from '@sallyport/core'
import {
  type ApprovalNoticeOptions,
  buildApproveCommand,
  followApprovalRequests,
  printApprovalNotice,
} from '../approvals/approval-notice.ts'
import { formatRuleLocation } from '../audit/rule-location.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { CallAnswer, CallOutcome, CallProblem } from '../gateway/gateway-client.ts'
import { withGateway } from '../gateway/with-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'
import { visibleLine } from '../terminal/terminal-text.ts'

interface CallFlags {
  readonly args?: string
  readonly 'dry-run'?: boolean
  readonly timeout?: number
}

const EXIT_FAILED = 1
const MAX_ARGUMENT_BYTES = 1_000_000

export const callCommand = defineCommand<CallFlags, [string]>({
  brief: 'Call a tool, under the same rules as an agent, and print what it answers',
  description:
    'Exits with 1 when the tool reports an error, 3 when there is no such tool, 4 when the call is refused,\n' +
    '5 when its server cannot answer, 130 when it is interrupted (which cancels the call).',
  examples: [
    ['call github/list_issues --args \'{"repo":"me/it"}\'', 'Call it with arguments'],
    ['call query --args - < arguments.json', 'Read the arguments from stdin'],
    ['call shell/run --dry-run', 'Only ask whether it would be allowed, and by which rule'],
    ['call query --json | jq .result', 'The whole answer, with the ids for `explain`'],
  ],
  flags: {
    args: {
      kind: 'parsed',
      parse: String,
      optional: true,
      placeholder: 'json',
      brief: 'The arguments, a JSON object; - reads it from stdin ({})',
    },
    'dry-run': { kind: 'boolean', optional: true, withNegated: false, brief: 'Decide, but do not call' },
    timeout: {
      kind: 'parsed',
      parse: parseTimeout,
      optional: true,
      placeholder: 'duration',
      brief: 'Cancel the call after this time: 500ms, 30s, 5m',
    },
  },
  positional: {
    kind: 'tuple',
    parameters: [
      {
        brief: 'Its name: server/tool, or the tool alone if only one server has it',
        placeholder: 'tool',
        parse: String,
      },
    ],
  },
  run: call,
})

async function call(context: CliContext, flags: CallFlags & GlobalFlags, tool: string): Promise<void> {
  const screen = createScreen(context, flags)
  const argumentText = await readArguments(context, flags.args)
  const request = { tool, argumentText, dryRun: flags['dry-run'] === true, trace: randomBytes(16).toString('hex') }
  const onRequested: ApprovalNoticeOptions['onRequested'] = (event) =>
    printApprovalNotice(screen, event, buildApproveCommand(context, flags, event.approval))
  const outcome = await withGateway(context, flags, async (client) => {
    const ended = new AbortController()
    const noticing = request.dryRun
      ? undefined
      : followApprovalRequests({ client, ...request, onRequested, signal: ended.signal })
    try {
      return await client.call(request, withTimeout(context.signal, flags.timeout))
    } finally {
      ended.abort()
      await noticing
    }
  })
  const exit = show(screen, outcome, request.dryRun)
  if (exit !== 0) context.process.exitCode = exit
}

async function readArguments({ stdin }: CliContext, given = '{}'): Promise<string> {
  const text = given === '-' ? await readAll(stdin) : given
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    // Without the parser's own message: it quotes the text, which may contain a secret.
    throw notAnObject(given === '-' ? 'The input on stdin is not JSON' : '--args is not JSON', cause)
  }
  if (isJsonObject(value)) return text
  throw notAnObject('The arguments are JSON, but not an object')
}

async function readAll(stdin: CliContext['stdin']): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk)
    length += bytes.length
    if (length > MAX_ARGUMENT_BYTES)
      throw new SallyportError('USAGE', `The arguments are larger than ${MAX_ARGUMENT_BYTES} bytes.`, {
        hint: 'Put large data into a file that the tool can read.',
      })
    chunks.push(bytes)
  }
  const bytes = Buffer.concat(chunks)
  if (isUtf8(bytes)) return bytes.toString('utf8')
  throw notAnObject('The input on stdin is not valid UTF-8')
}

function notAnObject(problem: string, cause?: unknown): SallyportError {
  return new SallyportError('USAGE', `${problem}; expected an object such as {"name": "value"}.`, {
    hint: 'Put single quotes around it in a shell.',
    cause,
  })
}

/** Aborts with the command, or after the given time. */
function withTimeout(signal: AbortSignal, timeout: number | undefined): AbortSignal {
  if (timeout === undefined) return signal
  const late = new AbortController()
  const error = new SallyportError('UPSTREAM_TIMEOUT', `There was no answer within ${formatDuration(timeout)}.`, {
    hint: 'The call was cancelled. Give it more time with --timeout.',
  })
  setTimeout(() => late.abort(error), timeout).unref()
  return AbortSignal.any([signal, late.signal])
}

function show(screen: Screen, { answer, text }: CallOutcome, dryRun: boolean): number {
  if (screen.json) screen.print(`${text}\n`)
  if ('error' in answer && answer.error) return printRefusal(screen, answer)
  if (dryRun) return showDecision(screen, answer as CallAnswer)
  if (answer.rpc_error !== undefined) return printRpcError(screen, answer.rpc_error)
  if (!screen.json) showResult(screen, answer.result ?? {})
  return answer.result?.isError === true ? EXIT_FAILED : 0
}

function printRefusal(screen: Screen, { error, call_id, decidedBy }: CallProblem): number {
  if (screen.json) return ERRORS[error.code].exit
  const rule = decidedBy?.rule && ` (${formatRuleLocation(decidedBy.rule)})`
  const hint = [error.hint, `\`sallyport explain ${call_id}\` shows the decision.`].filter(Boolean).join(' ')
  throw new SallyportError(error.code, `${error.message}${rule ?? ''}`, { hint })
}

const DRY_RUN_TEXTS: Readonly<Record<CallAnswer['outcome'], string>> = {
  allow: 'It would be called.',
  ask: 'It would wait until somebody approves it.',
  deny: 'It would not be called.',
}

function showDecision(screen: Screen, { outcome, steps, decidedBy }: CallAnswer): number {
  if (!screen.json) {
    const { style } = screen
    for (const { step, outcome: stepOutcome, reason } of steps) {
      const paint = stepOutcome === 'allow' ? style.green : style.red
      screen.print(
        `${paint(stepOutcome.padEnd(5))}  ${step}${reason === undefined ? '' : `: ${visibleLine(reason)}`}\n`,
      )
    }
    if (decidedBy?.rule) screen.print(`rule   ${formatRuleLocation(decidedBy.rule)}\n`)
    screen.printMessage(DRY_RUN_TEXTS[outcome])
  }
  if (outcome === 'allow') return 0
  return ERRORS[outcome === 'ask' ? 'APPROVAL_REQUIRED' : (decidedBy?.code ?? 'CALL_DENIED')].exit
}

function printRpcError(screen: Screen, error: Readonly<Record<string, unknown>>): number {
  if (!screen.json)
    screen.printMessage(
      `✗ The server answered with the error ${String(error.code)}: ${visibleLine(String(error.message))}`,
    )
  return EXIT_FAILED
}

/** Prints the text of the answer. Other content is only named; --json shows it. */
function showResult(screen: Screen, result: Readonly<Record<string, unknown>>): void {
  const content = Array.isArray(result.content) ? result.content.filter(isJsonObject) : []
  const texts = content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []))
  if (content.length === 0 && result.structuredContent !== undefined)
    texts.push(JSON.stringify(result.structuredContent, undefined, 2))
  for (const text of texts) screen.printUntrusted(text.endsWith('\n') ? text : `${text}\n`)
  const others = content.filter(({ type }) => type !== 'text').map(({ type }) => visibleLine(String(type)))
  if (others.length > 0) screen.printMessage(`Not shown: ${others.join(', ')}. Use --json for the whole answer.`)
}

function parseTimeout(text: string): number {
  const timeout = parseDuration(text, 's')
  // A timer cannot take a longer time: it would fire at once.
  if (timeout !== undefined && timeout > 0 && timeout <= 2 ** 31 - 1) return timeout
  throw new SallyportError('USAGE', `"${text}" is not a valid timeout; expected for example 500ms, 30s or 5m.`)
}
