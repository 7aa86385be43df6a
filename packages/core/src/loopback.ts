const LOOPBACK_V4 = /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/

/** Whether this host is always this machine. A name that needs a DNS lookup could point to another one. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || LOOPBACK_V4.test(host)
}
