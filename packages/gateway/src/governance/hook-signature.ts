import { createHmac, timingSafeEqual } from 'node:crypto'

const TIMESTAMP_HEADER = 'x-sallyport-timestamp'
export const SIGNATURE_HEADER = 'x-sallyport-signature'

/** How far a clock may be off, and for how long what was signed counts. */
const TOLERANCE_SECONDS = 300

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

export interface SignedMessage {
  readonly headers: Headers
  /** As it came, byte for byte. */
  readonly body: Buffer
}

export interface SigningContext {
  readonly secret: string
  /** In milliseconds. */
  readonly now: number
}

/** The headers that prove who wrote a body, and when. */
export function signatureHeaders(body: Buffer, { secret, now }: SigningContext): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000))
  return { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: sign({ secret, timestamp, body }) }
}

/** Whether whoever wrote this knows the secret, and wrote it just now. */
export function isSigned({ headers, body }: SignedMessage, { secret, now }: SigningContext): boolean {
  const { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: signature } = headers
  if (typeof timestamp !== 'string' || typeof signature !== 'string' || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const [expected, given] = [Buffer.from(sign({ secret, timestamp, body })), Buffer.from(signature)]
  return expected.length === given.length && timingSafeEqual(expected, given)
}

interface Signable {
  readonly secret: string
  readonly timestamp: string
  readonly body: Buffer
}

const sign = ({ secret, timestamp, body }: Signable): string =>
  `v1=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`
