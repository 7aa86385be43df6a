import { judgeMode, type ModeState, type Step, type Verdict } from '@sallyport/core'
import type { Listed } from './select.ts'
import { watched } from './watched.ts'

/** The mode in force. That rules are only watched does not hold against a lockdown. */
export function modeStep(state: () => ModeState): Step<Listed> {
  const judge = ({ policy }: Listed): Verdict => judgeMode(policy, state())
  const step: Step<Listed> = { name: 'mode', judge }
  const softly = watched(step, ({ policy }) => policy)
  return { name: 'mode', judge: (listed) => (state().mode === 'LOCKDOWN' ? step : softly).judge(listed) }
}
