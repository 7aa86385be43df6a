import { ALLOW, type Selection, type Step, type Verdict } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { isMetaTool } from './meta-tools.ts'

/** What a list and a call both ask about: a thing on offer, and what its server's entry leaves of it. */
export interface Listed {
  readonly offer: Offer
  readonly selection: Selection
  readonly isDockerGateway: boolean
  /** Whether the entry leaves any tool of the server, where it has tools at all. */
  readonly leavesTools: boolean
  readonly place: { readonly file: string; readonly line: number } | undefined
}

/** The server's own `includeTools` and `excludeTools`. Where no tool is left, nothing else of the server is either. */
export const select: Step<Listed> = { name: 'select', judge: judgeSelection }

function judgeSelection(listed: Listed): Verdict {
  const { offer, selection, leavesTools, place } = listed
  if (offer.kind === 'tool' ? selection(offer.name) : leavesTools) return ALLOW
  const reason = isClosedMetaTool(listed)
    ? metaToolReason(offer)
    : `The entry of server ${offer.server} ${gist(offer)}.`
  return { outcome: 'deny', code: 'CALL_DENIED', reason, ...(place && { rule: place }) }
}

const gist = ({ kind }: Offer): string =>
  kind === 'tool' ? 'does not include this tool' : 'includes none of its tools'

const isClosedMetaTool = ({ offer, isDockerGateway }: Listed): boolean =>
  isDockerGateway && offer.kind === 'tool' && isMetaTool(offer.name)

const metaToolReason = ({ server, name }: Offer): string =>
  `${name} is a tool of the Docker MCP Gateway itself, which could reach past the rules for other tools, and is closed. To open it, name it in includeTools of server ${server}, as ["*", "${name}"].`
