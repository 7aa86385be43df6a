import { quoteText, SallyportError } from '@sallyport/core'
import type { ApprovalView, GatewayClient } from '../gateway/gateway-client.ts'

/** The request that is meant by its id, or by a beginning that no other has. */
export async function findApproval(client: GatewayClient, typed: string): Promise<ApprovalView> {
  const waiting = typed === '' ? [] : await client.approvals()
  const found = waiting.filter(({ id }) => id.startsWith(typed))
  const [one] = found
  if (one && (found.length === 1 || one.id === typed)) return one
  // The gateway knows how one ended that no longer waits.
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
