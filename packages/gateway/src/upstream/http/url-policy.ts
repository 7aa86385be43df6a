/** Why a URL that the operator wrote may not be contacted, or nothing. It may lead anywhere, as long as it is HTTP. */
export function checkUrl(url: URL): string | undefined {
  if (url.protocol === 'http:' || url.protocol === 'https:') return undefined
  return `the scheme ${url.protocol} is not http or https`
}
