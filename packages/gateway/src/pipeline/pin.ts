import { ALLOW, type Ruled, type Step, shellWord, type ToolPolicy, type Verdict } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { brokenPin } from './pin-state.ts'

/** A definition that was reviewed is a lock: another one is refused until a person accepts it. */
export const pin: Step<{ readonly offer: Offer; readonly policy: ToolPolicy }> = {
  name: 'pin',
  judge: ({ offer, policy }) => {
    const broken = offer.kind === 'tool' ? brokenPin(offer, policy) : undefined
    return broken ? denial(offer, policy, broken) : ALLOW
  },
}

function denial(
  { server, name, recordName }: Offer,
  { pin: pins }: ToolPolicy,
  { value, rule }: Ruled<string>,
): Verdict {
  const isOne = pins.every((other) => other.value === value)
  const what = isOne
    ? `Server ${server} changed the definition of ${name} after it was reviewed`
    : `Entries of tools.yaml pin different definitions of ${name} of server ${server}`
  const reason = `${what} (definition_changed). It is refused until a person accepts it: sallyport tools accept ${shellWord(recordName)}`
  return { outcome: 'deny', code: 'DEFINITION_CHANGED', reason, ...(rule && { rule }) }
}
