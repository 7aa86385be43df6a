import { type Mode, NEXT_MODES } from '@sallyport/core'
import type { ModeRecord, ModeState } from '../../governance/governance.ts'

/** The mode as the admin plane shows it. */
export interface CurrentModeView extends ModeRecord {
  readonly next: Mode[]
  readonly trouble?: string
}

export function modeView({ current, problem }: ModeState): CurrentModeView {
  return { ...current, next: [...NEXT_MODES[current.mode]], ...(problem !== undefined && { trouble: problem }) }
}
