import type { Mode } from '@sallyport/core'
import { readMode } from '../../governance/governance.ts'
import { MODE_MEANINGS } from '../mode-meaning.ts'
import { type Check, ok, warning, wrong } from './check.ts'

interface ModeStatus {
  readonly mode: Mode
  readonly by: string
  readonly why: string
  readonly trouble?: string | undefined
}

export interface ModeCheckOptions {
  readonly state: string
  /** What the gateway says that runs on the state. */
  readonly running: ModeStatus | undefined
}

/** Whoever wonders why tools are refused should read here that the mode refuses them. */
export function checkMode({ state, running }: ModeCheckOptions): Check {
  if (running !== undefined)
    return running.trouble === undefined ? checkKnownMode(running) : wrong('mode', running.trouble)
  const kept = readMode(state)
  if (kept.found === 'nothing') return ok('mode', 'NORMAL')
  if (kept.found === 'record') return checkKnownMode(kept.record)
  return wrong(
    'mode',
    `${kept.path} ${kept.problem}: the next gateway begins in LOCKDOWN.`,
    'Find out what damaged it, then go back with `sallyport mode RECOVERY --why "…"`.',
  )
}

function checkKnownMode({ mode, by, why }: ModeStatus): Check {
  if (mode === 'NORMAL') return ok('mode', mode)
  const because = why === '' ? '' : `: ${why}`
  return warning(
    'mode',
    `${mode} is in force, set by ${by}${because}. ${MODE_MEANINGS[mode]}`,
    '`sallyport mode` says more, and what can follow.',
  )
}
