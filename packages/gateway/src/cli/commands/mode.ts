import { MODES, type Mode } from '@sallyport/core'
import { MODE_MEANINGS } from '../audit/mode-meaning.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { noGatewayMessage } from '../find-home.ts'
import type { GatewayClient, ModeView } from '../gateway/gateway-client.ts'
import { withRecords } from '../gateway/with-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createChoiceParser } from '../terminal/choice-parser.ts'
import { formatTimeAgo } from '../terminal/format-time-ago.ts'
import { formatLocalTime } from '../terminal/local-time.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'
import { visibleLine } from '../terminal/terminal-text.ts'

interface ModeFlags {
  readonly why?: string
}

export const modeCommand = defineCommand<ModeFlags, [Mode?]>({
  brief: 'Show the mode in force, or set another',
  description:
    'NORMAL, DEGRADED, ALERT, RECOVERY and LOCKDOWN allow fewer and fewer tools. A less strict mode needs --why.\n' +
    'If no gateway runs, the next one starts in the mode that is set.',
  examples: [
    ['mode', 'The mode, since when, who set it and why'],
    ['mode ALERT --why "unusual calls by codex"', 'Only tools of low risk from now on'],
    ['mode NORMAL --why "it was a test"', 'Back to work'],
    ['panic', 'LOCKDOWN, at once'],
  ],
  flags: {
    why: { kind: 'parsed', parse: String, optional: true, placeholder: 'text', brief: 'The reason; agents see it too' },
  },
  positional: {
    kind: 'tuple',
    parameters: [
      { brief: `The mode to set: ${MODES.join(', ')}`, placeholder: 'mode', parse: parseMode, optional: true },
    ],
  },
  run: (context, flags, mode) => {
    const screen = createScreen(context, flags)
    return mode === undefined ? show(context, flags, screen) : set(context, { flags, screen, mode })
  },
})

async function show(context: CliContext, flags: GlobalFlags, screen: Screen): Promise<void> {
  const { view, tools, age } = await withRecords(context, flags, async (client, found) => ({
    view: await client.mode(),
    tools: found === 'running' ? await countTools(client) : undefined,
    age: found,
  }))
  if (screen.json) return screen.printJson({ ...view, ...(tools && { tools }) })
  const open = tools && `${tools.open} of ${tools.all} can be called`
  const facts = [...listFacts(view, context.now()), ['tools', open] as const]
  screen.printFacts(facts.map(([name, value]) => ({ name, value })))
  if (age !== 'running') screen.printMessage(noGatewayMessage(context, flags))
  const { problem } = view
  if (problem !== undefined) screen.printMessage(`! ${visibleLine(problem)}`)
}

interface SetOptions {
  readonly flags: ModeFlags & GlobalFlags
  readonly screen: Screen
  readonly mode: Mode
}

async function set(context: CliContext, { flags, screen, mode }: SetOptions): Promise<void> {
  const { why } = flags
  const { changed, age } = await withRecords(context, flags, async (client, found) => ({
    changed: await client.setMode({ mode, ...(why !== undefined && { why }) }),
    age: found,
  }))
  if (screen.json) return screen.printJson(changed)
  const was = changed.before === mode ? 'It was in force already' : `It was ${changed.before} before`
  screen.printMessage(`${mode} is in force. ${MODE_MEANINGS[mode]} ${was}.`)
  if (age !== 'running')
    screen.printMessage(`! ${noGatewayMessage(context, flags)} The next one there starts in ${mode}.`)
  const { problem } = changed
  if (problem !== undefined) screen.printMessage(`! ${visibleLine(problem)}`)
}

async function countTools(client: GatewayClient): Promise<{ readonly open: number; readonly all: number }> {
  const tools = await client.tools({})
  return { open: tools.filter(({ offered }) => offered).length, all: tools.length }
}

function listFacts(view: ModeView, now: Date): readonly (readonly [string, string | undefined])[] {
  return [
    ['mode', view.mode],
    ['means', MODE_MEANINGS[view.mode]],
    ['since', `${formatLocalTime(view.since)} (${formatTimeAgo(new Date(view.since), now)})`],
    ['by', visibleLine(`${view.by} (${view.via})`)],
    ['why', visibleLine(view.why) || undefined],
    ['next', view.next.join(', ')],
  ]
}

/** In upper or lower case. */
function parseMode(text: string): Mode {
  return createChoiceParser(MODES)(text.toUpperCase())
}
