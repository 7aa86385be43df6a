/** Why a URL from the operator may not be contacted; `undefined` if it may. Any HTTP address is allowed. */
export function checkUrl(url: URL): string | undefined {
  if (url.protocol === 'http:' || url.protocol === 'https:') return undefined
  return `the scheme ${url.protocol} is not http or https`
}
