/** Far more than any answer that the budget of a call allows. */
const MAX_BYTES = 8 * 1024 * 1024

/**
 * Reaches a provider: nowhere else than at its address, for a redirect would take the key along in a header that is not
 * among those which are dropped on the way; and with no more of an answer than a model can have meant.
 */
export const modelFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: 'error' })
  if (response.body === null) return response
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(limitBytes(MAX_BYTES)), { status, statusText, headers })
}

function limitBytes(most: number): TransformStream<Uint8Array, Uint8Array> {
  let seen = 0
  return new TransformStream({
    transform(piece, controller) {
      seen += piece.length
      if (seen > most) controller.error(new Error(`its answer has more than ${most} bytes`))
      else controller.enqueue(piece)
    },
  })
}
