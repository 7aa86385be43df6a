import { SallyportError, splitShellWords } from '@sallyport/core'
import { createLookup, type Environment } from '../reading/environment.ts'
import { LIST_ITEM } from './docker-gateway-schema.ts'

/** The variables for the Docker MCP Gateway; `undefined` if a variable is not set. */
export interface DockerVariables {
  /** Whether a server is added even if config.yaml has no entry for it. */
  readonly enabled: boolean
  readonly command: readonly string[] | undefined
  /** The timeout of a call, and of the start, in milliseconds. */
  readonly timeout: number | undefined
  /** Empty: all servers. */
  readonly servers: readonly string[] | undefined
}

/** The variables that Sallyport reads. MCP_GATEWAY_AUTH_TOKEN and others are read by Docker itself. */
export const DOCKER_VARIABLES = [
  'MCP_GATEWAY_ENABLED',
  'MCP_GATEWAY_COMMAND',
  'MCP_GATEWAY_TIMEOUT_SECONDS',
  'MCP_GATEWAY_ENABLED_SERVERS',
] as const

type Variable = (typeof DOCKER_VARIABLES)[number]

/** Reads and checks the variables. The error for an invalid one contains its name, but not its value. */
export function readDockerVariables(environment: Environment): DockerVariables {
  const lookup = createLookup(environment)
  const read = <Value>(name: Variable, expected: string, parse: (text: string) => Value | undefined) => {
    const text = lookup(name)
    if (text === undefined) return undefined
    return parse(text.trim()) ?? throwInvalid(name, text, expected)
  }
  return {
    enabled: read('MCP_GATEWAY_ENABLED', 'true or false', parseFlag) ?? false,
    command: read('MCP_GATEWAY_COMMAND', 'a command, or a JSON list such as ["docker","mcp"]', parseCommand),
    timeout: read('MCP_GATEWAY_TIMEOUT_SECONDS', 'a number of seconds above 0, at most 86400', parseSeconds),
    servers: read('MCP_GATEWAY_ENABLED_SERVERS', 'names separated by commas', parseNames),
  }
}

function throwInvalid(name: Variable, text: string, expected: string): never {
  const got = text.trim() === '' ? 'is empty' : 'is not valid'
  throw new SallyportError('CONFIG_INVALID', `The variable ${name} ${got}; expected ${expected}.`, {
    hint: `Correct ${name}, or unset it.`,
  })
}

const FLAGS: Readonly<Record<string, boolean>> = {
  true: true,
  '1': true,
  yes: true,
  on: true,
  false: false,
  '0': false,
  no: false,
  off: false,
}

function parseFlag(text: string): boolean | undefined {
  const word = text.toLowerCase()
  return Object.hasOwn(FLAGS, word) ? FLAGS[word] : undefined
}

function parseCommand(text: string): readonly string[] | undefined {
  const words = text.startsWith('[') ? parseList(text) : splitShellWords(text)
  const isUsable = words !== undefined && words[0] !== undefined && words[0].trim() !== ''
  return isUsable && words.every((word) => !word.includes('\0')) ? words : undefined
}

function parseList(text: string): readonly string[] | undefined {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) && list.every((word) => typeof word === 'string') ? list : undefined
  } catch {
    return undefined
  }
}

const MAX_SECONDS = 86_400

function parseSeconds(text: string): number | undefined {
  if (!/^\d+(\.\d+)?$/.test(text)) return undefined
  const milliseconds = Math.round(Number(text) * 1_000)
  return milliseconds >= 1 && milliseconds <= MAX_SECONDS * 1_000 ? milliseconds : undefined
}

function parseNames(text: string): readonly string[] | undefined {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return names.every((name) => LIST_ITEM.test(name)) ? names : undefined
}
