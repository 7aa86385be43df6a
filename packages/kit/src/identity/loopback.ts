import { isIP } from 'node:net'

/** Does this name only this machine? A name that must be looked up could come to mean another. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1' || host === '[::1]') return true
  return isIP(host) === 4 && host.startsWith('127.')
}
