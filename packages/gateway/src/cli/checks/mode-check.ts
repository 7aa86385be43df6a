import type { Mode } from '@sallyport/core'
import { readMode } from '../../governance/governance.ts'
import { MODE_MEANINGS } from '../mode-meaning.ts'
import { type Check, ok, warning, wrong } from './check.ts'

interface KnownMode {
  readonly mode: Mode
  readonly by: string
  readonly why: string
  readonly trouble?: string | undefined
}

export interface ModeQuestion {
  readonly state: string
  /** What the gateway says that runs on the state. */
  readonly running: KnownMode | undefined
}

/** Whoever wonders why tools are refused should read here that the mode refuses them. */
export function checkMode({ state, running }: ModeQuestion): Check {
  if (running !== undefined) return running.trouble === undefined ? judge(running) : wrong('mode', running.trouble)
  const kept = readMode(state)
  if (kept.found === 'nothing') return ok('mode', 'NORMAL')
  if (kept.found === 'record') return judge(kept.record)
  return wrong(
    'mode',
    `${kept.path} ${kept.flaw}: the next gateway begins in LOCKDOWN.`,
    'Find out what damaged it, then go back with `sallyport mode RECOVERY --why "…"`.',
  )
}

function judge({ mode, by, why }: KnownMode): Check {
  if (mode === 'NORMAL') return ok('mode', mode)
  const because = why === '' ? '' : `: ${why}`
  return warning(
    'mode',
    `${mode} is in force, set by ${by}${because}. ${MODE_MEANINGS[mode]}`,
    '`sallyport mode` says more, and what can follow.',
  )
}
