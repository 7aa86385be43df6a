import { ALLOW, type PolicyValue, quoteForShell, type Step, type ToolPolicy, type Verdict } from '@sallyport/core'
import { type Offer, reviewName } from '../catalog/catalog.ts'
import { findBrokenPin } from './pin-state.ts'

/** A definition that was reviewed is a lock: another one is refused until a person accepts it. */
export const pinStep: Step<{ readonly offer: Offer; readonly policy: ToolPolicy }> = {
  name: 'pin',
  evaluate: ({ offer, policy }) => {
    const broken = findBrokenPin(offer, policy)
    return broken ? denial(offer, policy, broken) : ALLOW
  },
}

function denial(offer: Offer, { pin: pins }: ToolPolicy, { value, rule }: PolicyValue<string>): Verdict {
  const { server, kind, name, through } = offer
  const isOne = pins.every((other) => other.value === value)
  const what = isOne
    ? `Server ${server} changed ${NOUNS[kind]}${kind === 'instructions' ? '' : ` ${through?.name ?? name}`} after it was reviewed`
    : `Entries of tools.yaml pin different definitions of ${name} of server ${server}`
  const reason = `${what} (definition_changed). It is refused until a person accepts it: sallyport tools accept ${quoteForShell(reviewName(through ?? offer))}`
  return { outcome: 'deny', code: 'DEFINITION_CHANGED', reason, ...(rule && { rule }) }
}

const NOUNS: Readonly<Record<Offer['kind'], string>> = {
  tool: 'the definition of',
  prompt: 'the prompt',
  resource: 'the description of the resource',
  template: 'the description of the template',
  instructions: 'its instructions',
  question: 'the definition of',
}
