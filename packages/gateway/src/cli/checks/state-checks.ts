import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Mode } from '@sallyport/core'
import { prepareState } from '../../config/config.ts'
import { readMode } from '../../governance/governance.ts'
import { lockState } from '../../store/store.ts'
import { VERSION } from '../../version.ts'
import { MODE_MEANINGS } from '../audit/mode-meaning.ts'
import { isStopped } from '../gateway/gateway-timeout.ts'
import { type Check, ok, warning, wrong } from './check.ts'
import { attempt } from './home-checks.ts'

const LOW_SPACE_BYTES = 200 * 1024 ** 2
const MIN_SPACE_BYTES = 20 * 1024 ** 2

export interface StateCheckOptions {
  readonly state: string
  /** A gateway answers on the state's socket. */
  readonly running: boolean
  /** The home that the gateway serves, if it is another one than the checked home. */
  readonly otherHome: string | undefined
}

/** Checks whether the state can be used, who uses it, and whether only its owner can read it. */
export async function checkState({ state, ...holder }: StateCheckOptions): Promise<readonly Check[]> {
  if (!existsSync(state))
    return [ok('state', `${state} will be created when it is needed`), checkSpace(nearestExisting(state))]
  // Before prepareState, which corrects wrong permissions, so that they are visible only once.
  const mode = checkPermissions(state)
  const prepared = await attempt('state', () => prepareState(state))
  if ('level' in prepared) return [prepared]
  return [mode, await checkHolder({ state, ...holder }), ...checkTokens(join(state, 'tokens')), checkSpace(state)]
}

function checkPermissions(state: string): Check {
  const mode = statSync(state).mode & 0o777
  if ((mode & 0o077) === 0) return ok('state', `${state} can be written, by you alone`)
  return warning('state', `${state} was open to other users (mode ${mode.toString(8)}); it is closed to them now.`)
}

async function checkHolder({ state, running, otherHome }: StateCheckOptions): Promise<Check> {
  if (otherHome !== undefined)
    return wrong(
      'gateway',
      `The gateway of this state serves another home: ${otherHome}.`,
      'Give each home a state of its own with --state, or stop that gateway.',
    )
  if (running) return ok('gateway', 'A gateway runs on this state and answers')
  // Do not try a lock that was never taken: taking it leaves files behind.
  if (!existsSync(join(state, 'gateway.lock'))) return ok('gateway', 'No gateway runs on this state')
  const lock = await attempt('gateway', () => lockState(state, { version: VERSION, home: '' }))
  if ('level' in lock) return lock
  if (!lock.held) {
    lock.release()
    return ok('gateway', 'No gateway runs on this state')
  }
  const who = lock.holder === undefined ? 'Another process' : `The process ${lock.holder.pid}`
  if (lock.holder !== undefined && isStopped(lock.holder.pid))
    return wrong(
      'gateway',
      `${who} holds the state, but is stopped.`,
      `Continue it with \`kill -CONT ${lock.holder.pid}\`, or end it.`,
    )
  return wrong(
    'gateway',
    `${who} holds the state, but its gateway does not answer.`,
    'Wait a moment if it has just been started; otherwise stop it.',
  )
}

/** Anyone who can read a token can call tools in its owner's name. */
function checkTokens(folder: string): readonly Check[] {
  if (!existsSync(folder)) return [ok('tokens', 'There are none yet')]
  const open = [folder, ...readdirSync(folder).map((name) => join(folder, name))].filter(
    (path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0,
  )
  if (open.length === 0) return [ok('tokens', `${folder} can be read by you alone`)]
  return open.map((path) =>
    wrong(
      'tokens',
      `${path} is open to other users.`,
      `chmod go= ${path}, and revoke the token if somebody may have read it.`,
    ),
  )
}

function checkSpace(folder: string): Check {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const finding = `${Math.floor(free / 1024 ** 2)} MB free at ${folder}`
  if (free < MIN_SPACE_BYTES)
    return wrong('disk', finding, 'Free some space: calls that cannot be recorded are refused.')
  return free < LOW_SPACE_BYTES
    ? warning('disk', finding, 'Free some space before calls can no longer be recorded.')
    : ok('disk', finding)
}

/** The nearest parent folder that exists. */
function nearestExisting(path: string): string {
  return existsSync(path) ? path : nearestExisting(dirname(path))
}

interface ModeStatus {
  readonly mode: Mode
  readonly by: string
  readonly why: string
  readonly problem?: string | undefined
}

interface ModeCheckOptions {
  readonly state: string
  /** The report of the gateway that runs on the state. */
  readonly running: ModeStatus | undefined
}

/** A mode that refuses tools is shown here, for users who wonder why tools are refused. */
export function checkMode({ state, running }: ModeCheckOptions): Check {
  if (running !== undefined)
    return running.problem === undefined ? checkKnownMode(running) : wrong('mode', running.problem)
  const stored = readMode(state)
  if (stored.found === 'nothing') return ok('mode', 'NORMAL')
  if (stored.found === 'record') return checkKnownMode(stored.record)
  return wrong(
    'mode',
    `${stored.path} ${stored.problem}: the next gateway begins in LOCKDOWN.`,
    'Find out what damaged it, then go back with `sallyport mode RECOVERY --why "…"`.',
  )
}

function checkKnownMode({ mode, by, why }: ModeStatus): Check {
  if (mode === 'NORMAL') return ok('mode', mode)
  const because = why === '' ? '' : `: ${why}`
  return warning(
    'mode',
    `${mode} is in force, set by ${by}${because}. ${MODE_MEANINGS[mode]}`,
    '`sallyport mode` shows more, and the possible next modes.',
  )
}
