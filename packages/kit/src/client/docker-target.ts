import {
  buildDockerGatewayArguments,
  DOCKER_ENVIRONMENT,
  DOCKER_GATEWAY_COMMAND,
  type Json,
  type JsonObject,
  splitShellWords,
} from '@sallyport/core'
import type { Environment } from '../identity/identity.ts'
import type { ProcessEndpoint } from './endpoint.ts'
import { invalidEntry, readBoolean, readString, readStringList, readStringMap } from './entry-value.ts'

/** The Docker MCP Gateway as a process of this program: whatever its entry says of ports is for the gateway. */
export function readDockerTarget(settings: JsonObject, where: string, environment: Environment): ProcessEndpoint {
  const text = (key: string) => optional(settings[key], (value) => readString(value, `${where}.${key}`))
  const list = (key: string) => optional(settings[key], (value) => readStringList(value, `${where}.${key}`))
  const flag = (key: string) => optional(settings[key], (value) => readBoolean(value, `${where}.${key}`))
  const [command = '', ...words] = readCommand(settings.command, where)
  const cpus = text('cpus')
  const args = buildDockerGatewayArguments({
    servers: list('enabledServers') ?? list('servers') ?? [],
    profile: text('profile'),
    catalogs: list('catalogs'),
    secrets: text('secrets'),
    tools: list('tools'),
    interceptors: list('interceptors'),
    cpus: cpus === undefined ? undefined : Number(cpus),
    memory: text('memory'),
    blockNetwork: flag('blockNetwork'),
    blockSecrets: flag('blockSecrets'),
    verifySignatures: flag('verifySignatures'),
    longLived: flag('longLived'),
    static: flag('static'),
    extraArgs: list('extraArgs'),
  })
  const cwd = text('cwd')
  return {
    command,
    args: [...words, ...readStringList(settings.args, `${where}.args`), ...args],
    env: { ...pickEnvironment(environment), ...readStringMap(settings.env ?? settings.environment, `${where}.env`) },
    ...(cwd !== undefined && { cwd }),
  }
}

const optional = <Value>(value: Json | undefined, read: (value: Json) => Value): Value | undefined =>
  value === undefined ? undefined : read(value)

function readCommand(command: Json | undefined, where: string): readonly string[] {
  if (command === undefined) return DOCKER_GATEWAY_COMMAND
  const words = typeof command === 'string' ? splitShellWords(command) : readStringList(command, `${where}.command`)
  if (words?.[0] !== undefined && words[0] !== '') return words
  throw invalidEntry(`${where}.command is no command in which every quote is closed`)
}

function pickEnvironment(environment: Environment): Readonly<Record<string, string>> {
  const found = DOCKER_ENVIRONMENT.map((name) => [name, environment[name]] as const)
  return Object.fromEntries(found.filter((pair): pair is [string, string] => pair[1] !== undefined))
}
