import { accessSync, constants, existsSync } from 'node:fs'
import { describeUnknownVariables, type Environment } from '../../config/config.ts'
import { findSqliteProblem } from '../../store/store.ts'
import { withoutTokens } from '../token-variable.ts'
import { type Check, ok, warning, wrong } from './check.ts'

const MIN_NODE = [20, 19] as const
/**
 * Not read by config/environment.ts, but by the CLI, by the servers that we start, and by servers made with the kit.
 */
const EXTRA_VARIABLES = [
  'SALLYPORT_DEBUG',
  'SALLYPORT_LAUNCH',
  'SALLYPORT_MARK',
  'SALLYPORT_DATA',
  'SALLYPORT_USER_ID',
  'SALLYPORT_SESSION_ID',
]

export interface Machine {
  readonly nodeVersion: string
  readonly platform: string
  readonly environment: Environment
}

/** Checks what every home needs. */
export function checkMachine({ nodeVersion, platform, environment }: Machine): readonly Check[] {
  return [checkNode(nodeVersion), checkSqlite(), ...checkWatchdog(platform), ...checkVariables(environment)]
}

function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [wantedMajor, wantedMinor] = MIN_NODE
  const recent = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
  return recent
    ? ok('node', `Node ${version}`)
    : wrong('node', `Node ${version} is too old.`, `Install Node ${MIN_NODE.join('.')} or later.`)
}

function checkSqlite(): Check {
  const problem = findSqliteProblem()
  return problem === undefined ? ok('sqlite', 'SQLite loads') : wrong('sqlite', problem.message, problem.hint)
}

/** The process that ends the servers of a killed gateway is a shell script. It finds orphaned servers through /proc. */
function checkWatchdog(platform: string): readonly Check[] {
  const checks = [
    isExecutable('/bin/sh')
      ? ok('watchdog', '/bin/sh can be run')
      : wrong(
          'watchdog',
          '/bin/sh cannot be run.',
          'Install a POSIX shell: without it a killed gateway leaves its servers behind.',
        ),
  ]
  if (platform !== 'linux')
    return [...checks, warning('processes', `On ${platform} servers that leave their process group are not found.`)]
  return [
    ...checks,
    existsSync('/proc/self/stat')
      ? ok('processes', '/proc is mounted')
      : wrong(
          'processes',
          '/proc is not mounted.',
          'Mount it: servers that leave their process group are found there.',
        ),
  ]
}

function checkVariables(environment: Environment): readonly Check[] {
  const unknown = describeUnknownVariables(withoutTokens(environment), EXTRA_VARIABLES)
  if (unknown.length === 0) return [ok('environment', 'All SALLYPORT_* variables are known')]
  return unknown.map((sentence) => warning('environment', sentence, 'Correct its name, or unset it.'))
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
