const DEFAULT_DELAY_MS = 500
const MAX_DELAY_MS = 30_000
const MIN_DELAY_MS = 10

/**
 * How long to wait before a stream is opened again: first what the server asked for, then twice as long each time, with
 * jitter.
 */
export function reconnectDelay(attempt: number, retry: number | undefined, random: () => number = Math.random): number {
  if (attempt === 0 && retry !== undefined) return clamp(retry)
  const ceiling = clamp((retry ?? DEFAULT_DELAY_MS) * 2 ** attempt)
  return clamp(ceiling / 2 + (ceiling / 2) * random())
}

const clamp = (ms: number): number => Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, ms))
