import { quoteText, SallyportError } from '@sallyport/core'
import type { ApprovalView, GatewayClient } from '../gateway/gateway-client.ts'

/** Finds a request by its id, or by a unique prefix of it. */
export async function findApproval(client: GatewayClient, typed: string): Promise<ApprovalView> {
  const waiting = typed === '' ? [] : await client.approvals()
  const found = waiting.filter(({ id }) => id.startsWith(typed))
  const [one] = found
  if (one && (found.length === 1 || one.id === typed)) return one
  // If the request is no longer pending, the gateway reports how it ended.
  if (!one) return client.approval(typed || '-')
  const ids = found.map(({ id }) => id).join(', ')
  throw new SallyportError(
    'NAME_AMBIGUOUS',
    `${quoteText(typed, 60)} is the beginning of ${found.length} requests: ${ids}.`,
    {
      hint: 'Type more of the id.',
    },
  )
}
