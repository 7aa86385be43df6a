import { type Mode, NEXT_MODES } from '@sallyport/core'
import type { ModeKeeper, ModeRecord } from '../governance/governance.ts'

/** The mode as the admin plane shows it. */
export interface ShownMode extends ModeRecord {
  readonly next: Mode[]
  readonly trouble?: string
}

export function modeView({ current, trouble }: ModeKeeper): ShownMode {
  return { ...current, next: [...NEXT_MODES[current.mode]], ...(trouble !== undefined && { trouble }) }
}
