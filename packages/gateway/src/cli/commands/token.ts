import { parseDuration, SallyportError } from '@sallyport/core'
import { buildRouteMap } from '@stricli/core'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { TokenView } from '../gateway/gateway-client.ts'
import { withRecords } from '../gateway/with-gateway.ts'
import { formatTimeAgo } from '../terminal/format-time-ago.ts'
import { type Example, withOverview } from '../terminal/help-text.ts'
import { createScreen } from '../terminal/screen.ts'
import type { Column } from '../terminal/table.ts'

interface CreateFlags {
  readonly agent?: string
  readonly profile?: string
  readonly session?: string
  readonly tools?: readonly string[]
  readonly ttl?: number
}

const CREATE_EXAMPLES: readonly Example[] = [
  ['token create --agent codex > codex.token', 'A token for one agent; only the token goes to the file'],
  ['token create --agent ci --ttl 8h', 'One that expires by itself'],
  [
    'token create --agent codex --profile reviewer --tools docs,github/search',
    'One that has fewer tools than its profile',
  ],
]

const createCommand = defineCommand<CreateFlags>({
  brief: 'Create a token with which an agent can use the gateway over HTTP',
  description: 'The token is printed once and not stored; only its digest is stored.',
  examples: CREATE_EXAMPLES,
  flags: {
    agent: { kind: 'parsed', parse: String, optional: true, brief: 'The kind of client it is for (any)' },
    profile: { kind: 'parsed', parse: String, optional: true, brief: 'The variant of that agent (default)' },
    session: { kind: 'parsed', parse: String, optional: true, brief: 'The session it works in (one of its own)' },
    tools: {
      kind: 'parsed',
      parse: String,
      variadic: ',',
      optional: true,
      placeholder: 'selectors',
      brief: 'Only these of the profile’s tools, separated by commas (all of them)',
    },
    ttl: {
      kind: 'parsed',
      parse: parseTtl,
      optional: true,
      placeholder: 'duration',
      brief: 'How long it is valid: 30m, 8h, 7d (until it is revoked)',
    },
  },
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const { agent, profile, session, tools, ttl: ttlMs } = flags
    const options = Object.fromEntries(
      Object.entries({ agent, profile, session, tools, ttlMs }).filter(([, value]) => value !== undefined),
    )
    const minted = await withRecords(context, flags, (client) => client.mintToken(options))
    if (screen.json) return screen.printJson(minted)
    const { id, expires } = minted.record
    screen.print(`${minted.token}\n`)
    screen.printMessage(`This is token ${id}. It is valid until ${expires ?? `\`sallyport token revoke ${id}\``}.`)
  },
})

const listCommand = defineCommand<object>({
  brief: 'List the valid tokens',
  examples: [['token list', 'Who has a token, since when and until when']],
  flags: {},
  run: async (context, flags) => {
    const screen = createScreen(context, flags)
    const tokens = await withRecords(context, flags, (client) => client.tokens())
    if (screen.json) return screen.printJson({ tokens })
    if (tokens.length === 0) return screen.printMessage('There are no tokens. `sallyport token create` creates one.')
    screen.printTable(columns(context.now()), tokens)
  },
})

const revokeCommand = defineCommand<object, [string]>({
  brief: 'Revoke a token, at once and for good',
  examples: [['token revoke 4f1d2c3b4a596877', 'By its id, as `token list` shows it']],
  flags: {},
  positional: { kind: 'tuple', parameters: [{ brief: 'The id of the token', placeholder: 'id', parse: parseTokenId }] },
  run: async (context, flags, id) => {
    const screen = createScreen(context, flags)
    const revoked = await withRecords(context, flags, (client) => client.revokeToken(id))
    if (screen.json) return screen.printJson({ revoked: revoked.id })
    screen.printMessage(`The token ${revoked.id} is no longer valid.`)
  },
})

export const tokenCommands = withOverview(
  buildRouteMap<'create' | 'list' | 'revoke', CliContext>({
    routes: Object.assign(Object.create(null), { create: createCommand, list: listCommand, revoke: revokeCommand }),
    docs: { brief: 'Create, list and revoke the tokens of agents' },
  }),
  [...CREATE_EXAMPLES, ['token list', 'The valid tokens'], ['token revoke 4f1d2c3b4a596877', 'Revoke one']],
)

const columns = (now: Date): readonly Column<TokenView>[] => [
  { title: 'ID', value: ({ id }) => id },
  { title: 'AGENT', value: ({ agent }) => agent, flexible: true },
  { title: 'PROFILE', value: ({ profile }) => profile, flexible: true },
  { title: 'USER', value: ({ user }) => user },
  { title: 'CREATED', value: ({ created }) => formatTimeAgo(new Date(created), now) },
  { title: 'EXPIRES', value: ({ expires }) => expires ?? 'never' },
  { title: 'SESSION', value: ({ session }) => session, flexible: true },
]

function parseTtl(text: string): number {
  const ttl = parseDuration(text, 's')
  if (ttl !== undefined && ttl > 0) return ttl
  throw new SallyportError('USAGE', `"${text}" is not a valid time to live; expected for example 30m, 8h or 7d.`)
}

/**
 * A token in an argument is already in the shell's history and in the process list: warn instead of failing vaguely.
 */
function parseTokenId(text: string): string {
  if (!/^sp[ao]_/.test(text)) return text
  throw new SallyportError('USAGE', 'This is a token and not its id. Your shell may have saved it: revoke it.', {
    hint: '`sallyport token list` shows the ids.',
  })
}
