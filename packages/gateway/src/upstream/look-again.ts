import type { Look } from './transport.ts'

/** Last before what had to wait is sent: it was judged by the rules, and by what its server offered, before the wait. */
export async function lookAgain({ look }: { readonly look?: Look | undefined }): Promise<void> {
  const refusal = await look?.()
  if (refusal) throw refusal
}
