import { type JsonObject, quoteText, SallyportError } from '@sallyport/core'
import { defineCommand } from '../../define-command.ts'
import type { GlobalFlags } from '../../global-flags.ts'
import { CHANGE_FLAGS, type ChangeFlags, changeServer } from './change-server.ts'

interface AddFlags extends ChangeFlags {
  readonly url?: string
  readonly env?: readonly string[]
  readonly header?: readonly string[]
  readonly cwd?: string
  readonly disabled?: boolean
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/i

/** A variable of the gateway, as config.yaml refers to it. */
const reference = (name: string): string => `\${${name}}`

export const addCommand = defineCommand<AddFlags, string[]>({
  brief: 'Add a server to config.yaml',
  description:
    'Give the command after --, or --url. The change is shown; the rest of the file stays as it is.\n' +
    'A secret must not be typed here, where other programs see it: name its variable, and set that where the\n' +
    'gateway runs.',
  examples: [
    ['servers add memory -- npx -y @modelcontextprotocol/server-memory', 'A program'],
    [
      'servers add github --env GITHUB_TOKEN -- npx -y @modelcontextprotocol/server-github',
      'It gets the value of this variable',
    ],
    ['servers add docs --url https://docs.example.com/mcp', 'A server that is reached over HTTP'],
    [
      `servers add docs --url https://docs.example.com/mcp --header 'Authorization: Bearer ${reference('DOCS_TOKEN')}'`,
      'With a header, whose secret is in a variable',
    ],
    ['servers add memory --dry-run -- npx -y @modelcontextprotocol/server-memory', 'See the change, write nothing'],
  ],
  flags: {
    url: { kind: 'parsed', parse: String, optional: true, placeholder: 'url', brief: 'The URL of a remote server' },
    env: {
      kind: 'parsed',
      parse: String,
      optional: true,
      variadic: true,
      placeholder: 'NAME[=value]',
      brief: 'A variable of its environment; a name alone passes the variable of the gateway on',
    },
    header: {
      kind: 'parsed',
      parse: String,
      optional: true,
      variadic: true,
      placeholder: 'Name: value',
      brief: 'A header of every request to --url',
    },
    cwd: { kind: 'parsed', parse: String, optional: true, placeholder: 'folder', brief: 'The working folder' },
    disabled: { kind: 'boolean', optional: true, withNegated: false, brief: 'Add it, and do not start it yet' },
    ...CHANGE_FLAGS,
  },
  positional: {
    kind: 'array',
    parameter: { brief: 'Its name, then -- and its command line', placeholder: 'name', parse: String },
    minimum: 1,
  },
  run: (context, flags, ...words) => {
    const [id = '', ...command] = words
    if (!NAME.test(id))
      throw new SallyportError('USAGE', `${quoteText(id, 100)} cannot be the name of a server.`, {
        hint: 'Use letters, digits, "-" and "_", at most 64.',
      })
    const change = { kind: 'add', id, entry: toEntry(flags, command) } as const
    return changeServer(context, { flags, change, done: `${id} is in` })
  },
})

function toEntry(
  { url, env = [], header = [], cwd, disabled }: AddFlags & GlobalFlags,
  [command, ...args]: readonly string[],
): JsonObject {
  const state = disabled ? { enabled: false } : {}
  if ((url === undefined) === (command === undefined))
    throw new SallyportError('USAGE', 'Give either a command after --, or --url.', {
      hint: 'For example: `sallyport servers add memory -- npx -y @modelcontextprotocol/server-memory`',
    })
  if (url !== undefined) {
    const unfit = env.length > 0 ? '--env' : cwd === undefined ? undefined : '--cwd'
    if (unfit) throw new SallyportError('USAGE', `${unfit} is for programs: a server with --url is not started here.`)
    return { url, ...(header.length > 0 && { headers: Object.fromEntries(header.map(parseHeader)) }), ...state }
  }
  if (header.length > 0) throw new SallyportError('USAGE', '--header is for servers with --url.')
  return {
    command: command ?? '',
    ...(args.length > 0 && { args }),
    ...(env.length > 0 && { env: Object.fromEntries(env.map(parseVariable)) }),
    ...(cwd !== undefined && { cwd }),
    ...state,
  }
}

/** A value may refer to other variables, as in the file. */
function parseVariable(typed: string): readonly [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)(?:=([\s\S]*))?$/.exec(typed) ?? []
  if (name === undefined)
    throw new SallyportError('USAGE', '--env expects NAME or NAME=value; a name has letters, digits and "_".')
  return [name, value ?? reference(name)]
}

function parseHeader(typed: string): readonly [string, string] {
  const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):[ \t]*(.*)$/.exec(typed) ?? []
  if (name === undefined || value === undefined)
    throw new SallyportError(
      'USAGE',
      `--header expects "Name: value", for example "X-Api-Key: ${reference('MY_KEY')}".`,
    )
  return [name, value]
}
