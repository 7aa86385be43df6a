import { SallyportError } from '@sallyport/core'
import {
  checkTrust,
  loadSettings,
  prepareState,
  recordTrust,
  type ServerConfig,
  type Trust,
} from '../../config/config.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { type FoundHome, findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { formatServerCommand } from '../server-command.ts'
import { askTerminal, isTerminal } from '../terminal/ask-terminal.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'
import { visibleLine } from '../terminal/terminal-text.ts'

interface TrustFlags {
  readonly yes?: boolean
}

export const trustCommand = defineCommand<TrustFlags>({
  brief: 'Trust the home that came with this folder (./.sallyport)',
  description:
    'Such a home can start programs in your name, so nothing of it is used until you trust it.\n' +
    'The content of its files is remembered: after any change you have to trust it again.',
  examples: [
    ['trust', 'Show what ./.sallyport would start, then ask'],
    ['trust --yes', 'Trust it without asking, in a script'],
    ['trust --json', 'Show it for a program'],
  ],
  flags: { yes: { kind: 'boolean', optional: true, withNegated: false, brief: 'Do not ask' } },
  run: trust,
})

async function trust(context: CliContext, flags: TrustFlags & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const found = await findHome(context, flags)
  const before = await checkTrust(found)
  // A file with errors is refused here: what it would start after a correction cannot be shown.
  const { settings } = await loadSettings({
    home: found.home.path,
    environment: context.environment,
    content: found.content,
  })
  if (before === 'trusted') return report(screen, { found, servers: settings.servers, trust: before })
  if (!screen.json) show(screen, found, settings.servers)
  await confirmTrust(context, found, flags)
  await prepareState(found.state)
  await recordTrust(found)
  report(screen, { found, servers: settings.servers, trust: 'trusted' })
}

interface TrustOutcome {
  readonly found: FoundHome
  readonly servers: readonly ServerConfig[]
  readonly trust: Trust
}

function report(screen: Screen, { found: { home, content }, servers, trust }: TrustOutcome): void {
  if (!screen.json) {
    const why = home.origin === 'project' ? 'is trusted, as it is now' : 'is your own and needs no trust'
    return screen.printMessage(`The home ${home.path} ${why}.`)
  }
  screen.printJson({
    home: home.path,
    origin: home.origin,
    trust,
    files: [...content.files].map(([name, bytes]) => ({ name, bytes: bytes.length })),
    included: (content.included ?? []).map(({ path, bytes }) => ({ path, bytes: bytes?.length ?? 0 })),
    servers: servers.map((config) => ({ id: config.id, enabled: config.enabled, runs: formatServerCommand(config) })),
  })
}

function show(screen: Screen, { home, content }: FoundHome, servers: readonly ServerConfig[]): void {
  screen.printMessage(`The home ${home.path} holds:`)
  for (const [name, bytes] of content.files) screen.printMessage(`  ${name} (${bytes.length} bytes)`)
  for (const { path, bytes } of content.included ?? [])
    screen.printMessage(`  ${visibleLine(path)} (${bytes?.length ?? 0} bytes, included)`)
  screen.printMessage(servers.length === 0 ? 'It starts no servers.' : 'It would start or reach:')
  for (const config of servers) {
    screen.printMessage(
      `  ${config.id}${config.enabled ? '' : ' (disabled)'}: ${visibleLine(formatServerCommand(config))}`,
    )
    if ('command' in config && config.cwd !== undefined) screen.printMessage(`    in ${visibleLine(config.cwd)}`)
    const names = Object.keys('command' in config ? config.env : config.headers)
    if (names.length > 0) screen.printMessage(`    with ${visibleLine(names.join(', '))}`)
  }
}

async function confirmTrust({ stdin, process }: CliContext, { home }: FoundHome, { yes }: TrustFlags): Promise<void> {
  if (yes) return
  if (!isTerminal({ stdin, process })) {
    throw new SallyportError(
      'HOME_UNTRUSTED',
      `The home ${home.path} stays untrusted: there is no terminal to ask on.`,
      {
        hint: 'Read its files, then run `sallyport trust --yes`.',
      },
    )
  }
  if (/^y(es)?$/i.test((await askTerminal('Trust it? [y/N] ', { stdin, process })) ?? '')) return
  throw new SallyportError('HOME_UNTRUSTED', `The home ${home.path} stays untrusted.`)
}
