import { randomBytes as cryptoRandomBytes, hash } from 'node:crypto'

export type RandomBytes = (size: number) => Uint8Array

export const randomBytes: RandomBytes = cryptoRandomBytes

/** 256 random bits as 43 characters that are safe in headers, cookies and URLs. */
export function randomSecret(random: RandomBytes): string {
  return Buffer.from(random(32)).toString('base64url')
}

/** Secrets are stored and looked up only by this digest: then the time of a lookup reveals no information about the secret. */
export const digest = (secret: string): string => hash('sha256', secret, 'hex')
