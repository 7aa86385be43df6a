import type { ServerResponse } from 'node:http'

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ')

const ADMIN_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  // Cookies and "same site" know no ports: a page on another port of this host must not even embed an answer.
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}

/** Said on every answer of the admin plane. A file whose name is its hash may be cached all the same. */
export function setAdminHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(ADMIN_HEADERS)) response.setHeader(name, value)
}
