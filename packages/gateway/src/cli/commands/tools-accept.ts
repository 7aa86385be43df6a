import { SallyportError } from '@sallyport/core'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { GatewayClient, ToolDetail } from '../gateway-client.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { withGateway } from '../reach-gateway.ts'
import { createScreen, type Screen } from '../screen.ts'
import { settledServers } from '../settled-servers.ts'
import { askTerminal, isTerminal, isYes } from '../terminal-question.ts'
import { visibleLine, visibleLines } from '../terminal-text.ts'

interface AcceptFlags {
  readonly all?: boolean
  readonly yes?: boolean
}

export const acceptCommand = defineCommand<AcceptFlags, string[]>({
  brief: 'Show what a server changed about a tool, and accept it',
  description:
    'A tool whose definition changed after it was reviewed is refused until a person accepts it. What is accepted is\n' +
    'exactly what was shown: should the server change it again meanwhile, that is refused too.',
  examples: [
    ['tools accept github/create_issue', 'See what changed, then be asked'],
    ['tools accept --all', 'The same for every tool that changed'],
    ['tools accept create_issue --yes', 'Accept it without being asked, in a script'],
  ],
  flags: {
    all: { kind: 'boolean', optional: true, withNegated: false, brief: 'Every tool that changed' },
    yes: { kind: 'boolean', optional: true, withNegated: false, brief: 'Do not ask' },
  },
  positional: {
    kind: 'array',
    parameter: { brief: 'Its name in any form', placeholder: 'tool', parse: String },
  },
  run: acceptTools,
})

async function acceptTools(
  context: CliContext,
  flags: AcceptFlags & GlobalFlags,
  ...names: readonly string[]
): Promise<void> {
  if (flags.all === names.length > 0)
    throw new SallyportError('USAGE', 'Name the tools to accept, or all that changed with --all, but not both.')
  if (names.length === 0 && !flags.all)
    throw new SallyportError('USAGE', 'No tool was named.', {
      hint: '`sallyport tools --drift` lists those that changed.',
    })
  const screen = createScreen(context, flags)
  const accepted = await withGateway(context, flags, async (client, age) => {
    if (age === 'fresh') await settledServers(client, context.signal)
    const tools: ToolDetail[] = []
    for (const name of flags.all ? await driftedNames(client) : names) tools.push(await client.tool(name))
    return acceptEach(tools, { context, flags, screen, client })
  })
  if (screen.json) return screen.dataJson({ accepted })
  if (accepted.length === 0)
    screen.say(
      flags.all ? 'No tool changed since it was reviewed.' : 'There is nothing to accept: this is what was reviewed.',
    )
}

async function driftedNames(client: GatewayClient): Promise<readonly string[]> {
  return (await client.tools({ pin: 'changed' })).map(({ canonical }) => canonical)
}

interface Asking {
  readonly context: CliContext
  readonly flags: AcceptFlags
  readonly screen: Screen
  readonly client: GatewayClient
}

interface Accepted {
  readonly tool: string
  readonly from: string | undefined
  readonly to: string
}

async function acceptEach(tools: readonly ToolDetail[], asking: Asking): Promise<readonly Accepted[]> {
  const accepted: Accepted[] = []
  const declined: string[] = []
  for (const tool of tools) {
    if (tool.pin === 'pinned') continue
    const { canonical, review } = tool
    if (!asking.screen.json) showChange(asking.screen, tool)
    if ((await consentTo(tool, asking)) === 'declined') {
      declined.push(visibleLine(canonical))
      continue
    }
    await asking.client.acceptTool(canonical, review.now)
    accepted.push({ tool: canonical, from: review.pin, to: review.now })
    if (!asking.screen.json) asking.screen.say(`${visibleLine(canonical)} is accepted as it is now.`)
  }
  if (declined.length > 0) throw new SallyportError('DEFINITION_CHANGED', `Not accepted: ${declined.join(', ')}.`)
  return accepted
}

function showChange(screen: Screen, { canonical, pin, findings, review }: ToolDetail): void {
  const { style } = screen
  screen.data(`${style.bold(visibleLine(canonical))}\n`)
  if (pin === 'unpinned')
    screen.data('  It has no pin yet: any definition will do. Accepting it pins the one it has now.\n')
  else if (review.reviewed === undefined)
    screen.data('  The reviewed definition was not kept: this is all of the new one.\n')
  const paint = { '-': style.red, '+': style.green, ' ': (text: string) => text, '…': style.dim }
  for (const { part, lines } of review.changes) {
    screen.data(`  ${part}\n`)
    for (const { mark, text } of lines) screen.data(`${paint[mark](`    ${mark} ${visibleLines(text)}`)}\n`)
  }
  for (const finding of findings) screen.data(`  ${style.red('suspicious')}: ${visibleLine(finding)}\n`)
}

async function consentTo({ canonical }: ToolDetail, { context, flags }: Asking): Promise<'given' | 'declined'> {
  if (flags.yes) return 'given'
  if (!isTerminal(context)) {
    throw new SallyportError('USAGE', `Not accepted: ${canonical}. There is no terminal to ask on.`, {
      hint: 'Read what changed, then say so with --yes.',
    })
  }
  return isYes(await askTerminal('Accept it? [y/N] ', context)) ? 'given' : 'declined'
}
