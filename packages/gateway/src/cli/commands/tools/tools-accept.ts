import { SallyportError } from '@sallyport/core'
import type { CliContext } from '../../cli-context.ts'
import { defineCommand } from '../../define-command.ts'
import type { GatewayClient, OfferDetail, ToolDetail } from '../../gateway/gateway-client.ts'
import { waitForServers } from '../../gateway/wait-for-servers.ts'
import { withGateway } from '../../gateway/with-gateway.ts'
import type { GlobalFlags } from '../../global-flags.ts'
import { askTerminal, isTerminal, isYes } from '../../terminal/ask-terminal.ts'
import { createScreen, type Screen } from '../../terminal/screen.ts'
import { visibleLine, visibleLines } from '../../terminal/terminal-text.ts'

interface AcceptFlags {
  readonly all?: boolean
  readonly yes?: boolean
}

export const acceptCommand = defineCommand<AcceptFlags, string[]>({
  brief: 'Show what a server changed, or what was found in it, and accept it',
  description:
    'A tool whose definition changed after it was reviewed is refused until a person accepts it, and so are prompts,\n' +
    'resources, templates and instructions. Suspicious tools need approval for each call until they are accepted. What\n' +
    'is accepted is exactly what was shown: if the server changes it again meanwhile, that is refused too.',
  examples: [
    ['tools accept github/create_issue', 'See what changed, then confirm'],
    ['tools accept files/prompts/summarize', 'The same for a prompt; or files/instructions, files/templates/…'],
    ['tools accept --all', 'The same for everything that changed'],
    ['tools accept create_issue --yes', 'Accept it without asking, in a script'],
  ],
  flags: {
    all: { kind: 'boolean', optional: true, withNegated: false, brief: 'Everything that changed' },
    yes: { kind: 'boolean', optional: true, withNegated: false, brief: 'Do not ask' },
  },
  positional: {
    kind: 'array',
    parameter: { brief: 'Its name in any form, or server/prompts/name', placeholder: 'tool', parse: String },
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
    if (age === 'fresh') await waitForServers(client, context.signal)
    const reviewed = flags.all ? await findDrifted(client) : await findByName(client, names)
    return acceptEach(reviewed, { context, flags, screen })
  })
  if (screen.json) return screen.printJson({ accepted })
  if (accepted.length === 0)
    screen.printMessage(
      flags.all ? 'Nothing changed since it was reviewed.' : 'There is nothing to accept: this is what was reviewed.',
    )
}

/** A tool, or something else that a server offers. */
interface ReviewedOffer extends Pick<OfferDetail, 'pin' | 'findings' | 'openFindings' | 'review'> {
  readonly name: string
  readonly accept: (pin: string) => Promise<unknown>
}

const reviewTool = (client: GatewayClient, tool: ToolDetail): ReviewedOffer => ({
  ...tool,
  name: tool.canonical,
  accept: (pin) => client.acceptTool(tool.canonical, pin),
})

const reviewOffer = (client: GatewayClient, offer: OfferDetail): ReviewedOffer => ({
  ...offer,
  accept: (pin) => client.acceptOffer(offer.name, pin),
})

async function findDrifted(client: GatewayClient): Promise<readonly ReviewedOffer[]> {
  const reviewed: ReviewedOffer[] = []
  for (const { canonical } of await client.tools({ pin: 'changed' }))
    reviewed.push(reviewTool(client, await client.tool(canonical)))
  for (const { name } of await client.driftedOffers()) reviewed.push(reviewOffer(client, await client.offer(name)))
  return reviewed
}

const OFFER_NAME = /^[^/]+\/(?:(?:prompts|resources|templates)\/.+|instructions)$/s

async function findByName(client: GatewayClient, names: readonly string[]): Promise<readonly ReviewedOffer[]> {
  const reviewed: ReviewedOffer[] = []
  for (const name of names) {
    const offer = OFFER_NAME.test(name) ? await client.offer(name).catch(ignoreIfUnknown) : undefined
    reviewed.push(offer ? reviewOffer(client, offer) : reviewTool(client, await client.tool(name)))
  }
  return reviewed
}

/** A tool may have such a name too. */
function ignoreIfUnknown(error: unknown): undefined {
  if (!(error instanceof SallyportError) || error.code !== 'RESOURCE_UNKNOWN') throw error
}

interface ConsentOptions {
  readonly context: CliContext
  readonly flags: AcceptFlags
  readonly screen: Screen
}

interface AcceptedChange {
  readonly tool: string
  readonly from: string | undefined
  readonly to: string
}

async function acceptEach(all: readonly ReviewedOffer[], asking: ConsentOptions): Promise<readonly AcceptedChange[]> {
  const accepted: AcceptedChange[] = []
  const declined: string[] = []
  for (const one of all) {
    if (one.pin === 'pinned' && one.openFindings.length === 0) continue
    const { name, review } = one
    if (!asking.screen.json) showChange(asking.screen, one)
    if ((await askConsent(one, asking)) === 'declined') {
      declined.push(visibleLine(name))
      continue
    }
    await one.accept(review.now)
    accepted.push({ tool: name, from: review.pin, to: review.now })
    if (!asking.screen.json) asking.screen.printMessage(`${visibleLine(name)} is accepted as it is now.`)
  }
  if (declined.length > 0) throw new SallyportError('DEFINITION_CHANGED', `Not accepted: ${declined.join(', ')}.`)
  return accepted
}

function showChange(screen: Screen, { name, pin, findings, review }: ReviewedOffer): void {
  const { style } = screen
  screen.print(`${style.bold(visibleLine(name))}\n`)
  if (pin === 'unpinned')
    screen.print('  It has no pin yet, so any definition is allowed. Accepting it pins the current one.\n')
  else if (pin === 'changed' && review.reviewed === undefined)
    screen.print('  The reviewed definition was not stored: this is all of the new one.\n')
  const paint = { '-': style.red, '+': style.green, ' ': (text: string) => text, '…': style.dim }
  for (const { part, lines } of review.changes) {
    screen.print(`  ${part}\n`)
    for (const { mark, text } of lines) screen.print(`${paint[mark](`    ${mark} ${visibleLines(text)}`)}\n`)
  }
  for (const finding of findings) screen.print(`  ${style.red('suspicious')}: ${visibleLine(finding)}\n`)
}

async function askConsent({ name }: ReviewedOffer, { context, flags }: ConsentOptions): Promise<'given' | 'declined'> {
  if (flags.yes) return 'given'
  if (!isTerminal(context)) {
    throw new SallyportError('USAGE', `Not accepted: ${name}. There is no terminal to ask on.`, {
      hint: 'Read what changed, then confirm with --yes.',
    })
  }
  return isYes(await askTerminal('Accept it? [y/N] ', context)) ? 'given' : 'declined'
}
