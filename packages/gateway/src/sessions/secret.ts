import { randomBytes as cryptoRandomBytes, hash } from 'node:crypto'

export type RandomBytes = (size: number) => Uint8Array

export const randomBytes: RandomBytes = cryptoRandomBytes

/** 256 random bits as 43 characters that are safe in headers, cookies and URLs. */
export function randomSecret(random: RandomBytes): string {
  return Buffer.from(random(32)).toString('base64url')
}

/** Secrets are kept and looked up by this alone: the time of a look-up tells nothing about a secret that is hashed first. */
export const digest = (secret: string): string => hash('sha256', secret, 'hex')
