import { once } from 'node:events'
import { type Stats, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join, resolve } from 'node:path'
import { maskSecrets, messageOf, SallyportError } from '@sallyport/core'
import { type Environment, imageOf, type ProgramServerConfig, type ServerConfig } from '../../config/config.ts'
import { callerKeyPath, countCallerKeys } from '../../sessions/sessions.ts'
import { formatServerCommand } from '../server-command.ts'
import { type Check, ok, wrong } from './check.ts'
import { isExecutable } from './machine-checks.ts'

/** What the system searches if PATH is not set. */
const DEFAULT_PATH = '/usr/local/bin:/bin:/usr/bin'

/** Checks that each server's program exists. Nothing is started, and no URL is requested. */
export function checkServers(servers: readonly ServerConfig[], environment: Environment): readonly Check[] {
  return servers.filter(({ enabled }) => enabled).map((config) => checkServer(config, environment))
}

function checkServer(config: ServerConfig, environment: Environment): Check {
  const name = `server ${config.id}`
  if (!('command' in config) || imageOf(config) !== undefined)
    return ok(name, `${formatServerCommand(config)} (not checked)`)
  const { cwd } = config
  const masked = (text: string): string => maskSecrets(text, config.fromVariables)
  if (cwd !== undefined && !tryStat(cwd)?.isDirectory())
    return wrong(
      name,
      `Its working folder ${masked(cwd)} does not exist, or cannot be accessed.`,
      'Create it, or correct `cwd`.',
    )
  const program = findServerProgram(config, environment)
  if (program !== undefined) return ok(name, masked(program))
  return wrong(
    name,
    `There is no program ${masked(config.command)} in PATH.`,
    'Install it, or give its full path as `command`.',
  )
}

function findServerProgram({ command, cwd, env }: ProgramServerConfig, environment: Environment): string | undefined {
  const candidates = command.includes('/')
    ? [resolve(cwd ?? '.', command)]
    : (env.PATH ?? environment.PATH ?? DEFAULT_PATH).split(delimiter).map((folder) => join(folder, command))
  return candidates.find((file) => tryStat(file)?.isFile() && isExecutable(file))
}

/** `undefined` for a path that cannot be accessed: the search goes on, like that of the system. */
function tryStat(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

interface KeyCheckOptions {
  readonly servers: readonly ServerConfig[]
  readonly folder: string
  /** The folders that must not contain the keys. */
  readonly notInside: readonly string[]
}

/** Checks the keys that sign caller tokens, if a server gets such tokens. */
export function checkCallerKeys({ servers, folder, notInside }: KeyCheckOptions): readonly Check[] {
  if (!servers.some(({ enabled, identity }) => enabled && identity === 'forward')) return []
  const name = 'caller keys'
  try {
    const count = countCallerKeys({ folder, notInside })
    const path = callerKeyPath(folder)
    return [ok(name, count === 0 ? `${path} will be created by the gateway` : `${path}, ${count} published`)]
  } catch (error) {
    if (error instanceof SallyportError) return [wrong(name, error.message, error.hint ?? '')]
    return [wrong(name, `${folder} cannot be read: ${messageOf(error)}`, 'Make it readable, or set SALLYPORT_KEYS.')]
  }
}

interface PortCheckOptions {
  readonly host: string
  readonly port: number
  /** Where the gateway of this state listens, if one runs. */
  readonly ours: readonly string[]
}

/** Checks whether `serve` could listen on its configured address. */
export async function checkPort({ host, port, ours }: PortCheckOptions): Promise<Check> {
  const address = `${host}:${port}`
  if (ours.some((url) => URL.canParse(url) && new URL(url).port === String(port)))
    return ok('port', `${address} is the gateway of this state`)
  const code = await tryToListen(host, port)
  if (code === undefined) return ok('port', `${address} is free`)
  const finding =
    code === 'EADDRINUSE' ? `${address} is taken by another program.` : `${address} cannot be used (${code}).`
  return wrong('port', finding, 'Stop that program, or choose another with gateway.port or `serve --port`.')
}

async function tryToListen(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  server.listen({ host, port, exclusive: true })
  try {
    await once(server, 'listening')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown error'
  }
  server.close()
  await once(server, 'close')
  return undefined
}
